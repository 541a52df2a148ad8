package jobs

import (
	"cmp"
	"time"
)

// KeepEnded bounds the ended jobs kept in memory, and keepEndedTasks their tasks; older ones
// are looked up in the journal.
const (
	KeepEnded      = 10_000
	keepEndedTasks = 1_000_000
)

// endedJobs are ended jobs that are still in memory, the oldest first.
type endedJobs struct {
	list  []*Job
	tasks int
}

func (e *endedJobs) add(j *Job) {
	e.list = append(e.list, j)
	e.tasks += j.Status.Tasks
}

// due reports whether the oldest job should be forgotten.
func (e *endedJobs) due(retention time.Duration, most int) bool {
	return len(e.list) > 0 && (len(e.list) > min(KeepEnded, cmp.Or(most, KeepEnded)) || e.tasks > keepEndedTasks || time.Since(e.list[0].endedAt) >= retention)
}

func (e *endedJobs) pop() *Job {
	j := e.list[0]
	e.list[0] = nil
	e.list = e.list[1:]
	e.tasks -= j.Status.Tasks
	return j
}

// forget drops ended jobs from memory that are too many or too old.
func (t *Table) forget() {
	for t.ended.due(t.opts.Retention, t.opts.MaxEnded) {
		j := t.ended.pop()
		t.order.remove(j)
		if t.jobs[j.ID] == j { // and no later job under its key
			delete(t.jobs, j.ID)
		}
		t.observe(Change{Kind: Forgotten, Job: j})
	}
}
