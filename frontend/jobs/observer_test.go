package jobs_test

import (
	"maps"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/frontend/jobs"
	"github.com/pigeon-sched/pigeon/frontend/journal"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/runloop"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// retries is a feature that package jobs does not know: it counts the attempts of unfinished jobs that
// others followed, and publishes the number of each job when its end is on the disk.
type retries struct {
	jobs      map[*jobs.Job]int
	waiting   jobs.Queue[int]
	published []int
}

func (r *retries) Observe(c jobs.Change) {
	switch {
	case c.Tries():
		r.jobs[c.Job] += int(max(c.Record.Count, 1))
	case c.Kind == jobs.Recorded && c.Record.Kind == journal.JobEnded:
		r.waiting.Add(c.Batch, r.jobs[c.Job])
	case c.Kind == jobs.Written:
		r.waiting.Written(c.Batch, func(n *int) { r.published = append(r.published, *n) })
	case c.Kind == jobs.Ended:
		delete(r.jobs, c.Job)
	}
}

func observed() (*jobs.Table, *retries) {
	r := &retries{jobs: map[*jobs.Job]int{}}
	return jobs.New(jobs.Options{Retention: time.Hour, Clock: runloop.NewClock(), Observers: []jobs.Observer{r}}), r
}

func submission() *journal.Submission {
	return &journal.Submission{Request: api.Request{Key: "job", Tasks: make([]api.Task, 3)}, Submitted: time.Now().UnixNano()}
}

// A new feature needs no change of this package: it is told the records as they are made, and, after a
// restart, as the journal has them; it publishes what is on the disk, and nothing else.
func TestNewObserver(t *testing.T) {
	table, feature := observed()
	j := table.Start(submission())
	table.Add(j)
	var first, second jobs.Effects
	kept := table.Record(j, &sched.Message{Kind: sched.NewAttempt, Count: 2, Attempt: 2, Outcome: sched.Killed}, nil, &first)
	table.EndBatch()

	after, restored := observed()
	back := after.Restore(submission())
	after.RestoreRecord(back, &kept, 1)
	if got := restored.jobs[back]; got != 2 || back.Status.Attempts != 5 {
		t.Errorf("after a restart the feature knows of %d attempts, want 2; the job has had %d, want 5", got, back.Status.Attempts)
	}

	table.Record(j, &sched.Message{Kind: sched.NewAttempt, First: 1, Attempt: 3, Outcome: sched.Failed}, nil, &second)
	table.Record(j, &sched.Message{Kind: sched.JobEnded, Outcome: sched.Killed}, nil, &second)
	table.EndBatch()
	if table.Release(&first); len(feature.published) != 0 {
		t.Errorf("%v is published before it is on the disk", feature.published)
	}
	if table.Release(&second); len(feature.published) != 1 || feature.published[0] != 3 {
		t.Errorf("the feature has published %v, want 3 attempts", feature.published)
	}
	if len(feature.jobs) != 0 {
		t.Errorf("the feature keeps rows of %v", maps.Collect(maps.All(feature.jobs)))
	}
}

// uninterested observes nothing.
type uninterested struct{}

func (uninterested) Observe(jobs.Change) {}

// The record of a task allocates nothing for the observers that it does not concern.
func TestRecordAllocatesNothing(t *testing.T) {
	table := jobs.New(jobs.Options{Retention: time.Hour, Clock: runloop.NewClock(), Observers: []jobs.Observer{uninterested{}, uninterested{}}})
	j := table.Start(submission())
	table.Add(j)
	report, effects := &wire.Item{From: wire.Ref{Role: sched.Worker, Name: "n"}}, &jobs.Effects{}
	m := &sched.Message{Kind: sched.TaskEnded, Attempt: 1, Outcome: sched.Done}
	if n := testing.AllocsPerRun(100, func() {
		table.Record(j, m, report, effects)
		table.Unused(report)
		table.EndBatch()
		table.Release(effects)
	}); n != 0 {
		t.Errorf("%v allocations for the end of a task", n)
	}
}
