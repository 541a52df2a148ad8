package jobs

import (
	"time"

	"github.com/pigeon-sched/pigeon/frontend/journal"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Jobs that start after others are held: they are in the table and in the journal, and the core
// does not know them.
//
//	Hold ──▶ held ──Met, the last one──(on the disk)──▶ Free ──▶ stepped into the core
//	          └──JobEnded (cancelled, or another job did not end as it must have)

// Held reports whether the job is held, and has not ended.
func (j *Job) Held() bool { return j.held }

// Hold holds a job for a reason, which replaces the one before.
func (t *Table) Hold(j *Job, why string) {
	if !j.held {
		j.held = true
		t.apart.Jobs++
		t.apart.Tasks += j.Status.Tasks
	}
	j.Status.State, j.Status.Reason = api.StateHeld, why
}

// Met returns the record that another job, number index of those after which this one starts, has
// ended as required.
func (t *Table) Met(j *Job, index int32) journal.Record {
	return journal.Record{Kind: journal.Met, Job: j.ID, First: index, At: time.Now().UnixNano()}
}

// Free ends the holding of a job that is about to be stepped into the core. Its tasks wait from
// the time of the record of the last job that it was held for.
func (t *Table) Free(j *Job, at int64) {
	t.join(j)
	j.Status.State, j.Status.Reason = api.StateQueued, ""
	t.FreeSince(j, at)
	t.observe(Change{Kind: Freed, Job: j})
}

// FreeSince states when a job of the journal was released by an earlier process. Since no other
// clock outlives a process, this is by the wall clock.
func (t *Table) FreeSince(j *Job, at int64) {
	released := time.Unix(0, at)
	j.Due, j.Status.Released = t.opts.Clock.Now()-sched.Time(max(0, time.Since(released))), unixSeconds(released)
}

// join removes a job from those that the core does not know.
func (t *Table) join(j *Job) {
	if j.held {
		j.held = false
		t.apart.Jobs--
		t.apart.Tasks -= j.Status.Tasks
	}
}

// Apart returns the sums over the held jobs, which the core does not know.
func (t *Table) Apart() sched.Owed { return t.apart }
