package jobs

import (
	"time"

	"github.com/pigeon-sched/pigeon/frontend/journal"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Restore enters an unfinished job of the journal. Its age is by this host's wall
// clock, since no other clock outlives a process.
func (t *Table) Restore(sub *journal.Submission) *Job {
	sub.Bytes = sub.Request.Share()
	j := newJob(sub)
	age := max(0, time.Since(time.Unix(0, sub.Submitted)))
	t.restored++
	j.restored, j.Durable, j.arrived = true, true, t.opts.Clock.Now()-sched.Time(age)
	t.jobs[j.ID] = j
	t.held.add(j)
	t.order.add(j)
	t.begin(j)
	t.spans.began(j)
	return j
}

// RestoreRecord applies a record that the journal has of a job, and returns the message
// that steps it into the core; false for a record that is not stepped. Placements
// in groups that the configuration no longer has are skipped: their tasks are placed
// again.
func (j *Job) RestoreRecord(r *journal.Record, groups int) (m sched.Message, ok bool) {
	m = sched.Message{Job: j.ID, First: r.First, Count: r.Count, Attempt: r.Attempt, Losses: r.Losses, Retries: r.Retries, Outcome: r.Outcome, Reason: r.Reason, Node: r.Node}
	switch r.Kind {
	case journal.Placed, journal.Moved:
		if int(r.Group) >= groups {
			return m, false
		}
		m.Kind, m.Peer = sched.Placed, sched.Addr{Role: sched.Master, ID: r.Group}
		if r.Kind == journal.Moved {
			m.Marks = sched.Moved
		}
	case journal.Reclassed:
		m.Kind, m.Class = sched.Reclass, r.Class
		j.turned(r.Class, 0) // before this process began
	case journal.NewAttempt, journal.NewAttempts, journal.Lost:
		m.Kind = sched.NewAttempt
		j.newAttempts(&m)
	case journal.NotLost:
		m.Kind = sched.NotLost
	case journal.TaskEnded:
		m.Kind = sched.TaskEnded
		rep := &j.reports[r.First]
		rep.attempt, rep.ended, rep.failed, rep.elapsed = r.Attempt, true, r.Outcome == sched.Failed, r.Elapsed
		j.countResult(rep.failed)
	case journal.Cancelled:
		m.Kind = sched.Cancel
	default:
		return m, false
	}
	return m, true
}
