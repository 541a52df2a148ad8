package jobs

import (
	"time"

	"github.com/pigeon-sched/pigeon/frontend/journal"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Restore enters an unfinished job of the journal. Its age is by this host's wall
// clock, since no other clock outlives a process.
func (t *Table) Restore(sub *journal.Submission) *Job {
	sub.Bytes = sub.Request.Share()
	j := newJob(sub)
	age := max(0, time.Since(time.Unix(0, sub.Submitted)))
	t.restored++
	j.restored, j.Arrived = true, t.opts.Clock.Now()-sched.Time(age)
	j.Due = j.Arrived
	t.enter(j, Change{Kind: Restored, Job: j})
	return j
}

// RestoreEnded enters a job of the journal that has ended, and how long ago. Such jobs are
// entered in the order of their ends, after the unfinished ones.
func (t *Table) RestoreEnded(e *journal.Ended, ago time.Duration) {
	if t.jobs[e.Job] != nil {
		return // accepted again under its key
	}
	j := &Job{ID: e.Job, Status: e.Status, Ended: true, former: true, fingerprint: e.Fingerprint, endedAt: time.Now().Add(-ago)}
	j.Final, j.Due = &j.Status, t.opts.Clock.Now()-sched.Time(ago+Lasted(&j.Status))
	t.enter(j, Change{Kind: Former, Job: j, Former: e})
	t.ended.add(j)
	t.forget()
}

// Lasted returns how long a job that has ended lasted since it began to wait.
func Lasted(s *api.Status) time.Duration {
	return time.Duration(max(s.Ended-max(s.Submitted, s.Released), 0) * 1e9)
}

// EndRestore follows the last restored job: it brings them into the order of their submission.
func (t *Table) EndRestore() {
	t.order.sort()
	t.observe(Change{Kind: Resumed})
}

// RestoreRecord applies a record that the journal has of a job, and returns the message
// that steps it into the core; false for a record that is not stepped. Placements
// in groups that the configuration no longer has are skipped: their tasks are placed
// again.
func (t *Table) RestoreRecord(j *Job, r *journal.Record, groups int) (m sched.Message, ok bool) {
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
	case journal.NewAttempt, journal.NewAttempts, journal.Lost:
		if m.Kind = sched.NewAttempt; r.Apart {
			m.Marks = sched.Apart
		}
		if r.Kind != journal.Lost {
			m.Node = "" // it reported the attempt and was not lost
		}
	case journal.NotLost:
		m.Kind = sched.NotLost
	case journal.TaskEnded, journal.TaskReported:
		m.Kind = sched.TaskEnded
		m.Node = "" // a result names no lost node
		if r.Outcome == sched.Done {
			m.Reason = "" // what it left running is no reason of an end
		}
	case journal.Cancelled:
		m.Kind = sched.Cancel
	default:
		return m, false
	}
	t.observe(Change{Kind: Replayed, Job: j, Record: r})
	j.apply(r)
	return m, true
}
