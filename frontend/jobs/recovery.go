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
	j.restored, j.Durable, j.arrived = true, true, t.opts.Clock.Now()-sched.Time(age)
	j.due = j.arrived
	t.jobs[j.ID] = j
	t.held.add(j)
	t.order.add(j)
	t.begin(j)
	t.spans.began(j)
	return j
}

// RestoreEnded enters a job of the journal that has ended, and how long ago. Such jobs are
// entered in the order of their ends, after the unfinished ones. The error says what of it is
// not known any more; the job is entered all the same.
func (t *Table) RestoreEnded(e *journal.Ended, ago time.Duration) error {
	if t.jobs[e.Job] != nil {
		return nil // accepted again under its key
	}
	j := formerJob(e)
	j.endedAt = time.Now().Add(-ago)
	j.due = t.opts.Clock.Now() - sched.Time(ago) - sched.Time(lasted(&j.Status))
	t.jobs[e.Job] = j
	t.order.add(j)
	err := t.restoreEnd(j, e)
	t.ended.add(j)
	if j.trace.own = e.Trace; e.Trace != (api.Trace{}) {
		t.traced = append(t.traced, j)
	}
	t.forget()
	return err
}

// withoutResult leaves the tasks of a cancelled job of the journal without a result when no node
// reported one: they were stopped, or waited.
func (j *Job) withoutResult() {
	for i := range j.reports {
		if r := &j.reports[i]; r.node == 0 && !r.failed() {
			r.outcome = sched.Unfinished
		}
	}
}

// EndRestore follows the last restored job: it brings them into the order of their submission, and
// records the spans that the former process may not have exported.
func (t *Table) EndRestore() {
	t.order.sort()
	t.spans.again(t.traced)
	t.traced = nil
}

// RestoreRecord applies a record that the journal has of a job, and returns the message
// that steps it into the core; false for a record that is not stepped. Placements
// in groups that the configuration no longer has are skipped: their tasks are placed
// again.
func (t *Table) RestoreRecord(j *Job, r *journal.Record, groups int) (m sched.Message, ok bool) {
	m = sched.Message{Job: j.ID, First: r.First, Count: r.Count, Attempt: r.Attempt, Losses: r.Losses, Retries: r.Retries, Outcome: r.Outcome, Reason: r.Reason, Node: r.Node}
	j.restoreUsage(r)
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
		if m.Kind = sched.NewAttempt; r.Apart {
			m.Marks = sched.Apart
		}
		if r.Kind != journal.NewAttempts {
			t.restoreEarlier(j, r)
		}
		if r.Kind != journal.Lost {
			m.Node = "" // it reported the attempt and was not lost
		}
		j.newAttempts(&m)
	case journal.NotLost:
		m.Kind = sched.NotLost
	case journal.TaskEnded, journal.TaskReported:
		m.Kind = sched.TaskEnded
		rep := &j.reports[r.First]
		t.counts(j, r.First, r.Attempt)
		t.nodes.set(&rep.node, r.Node)
		m.Node = "" // a result names no lost node
		rep.attempt, rep.outcome, rep.elapsed = r.Attempt, r.Outcome, r.Elapsed
		rep.exit, rep.code = int16(r.Exit), codeOf(r.Code) //nolint:gosec // 16 bits were written
		if rep.began = restoredStart(j, r.Began); r.Kind == journal.TaskReported && r.Began == 0 {
			rep.began = startTimeOf(j, time.Unix(0, r.At).Add(-r.Elapsed))
		}
		j.countResult(rep.failed())
	case journal.Cancelled:
		m.Kind = sched.Cancel
	default:
		return m, false
	}
	return m, true
}
