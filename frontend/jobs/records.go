package jobs

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/pigeon-sched/pigeon/frontend/journal"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// Effects are what happens when the records of a batch are on the disk.
type Effects struct {
	batch uint64 // 0: nothing was recorded
	ended []*Job
}

// Record applies a record of the core to its job, has the observers add to it, and returns it in
// the form of the journal. report is the report that is being stepped, nil for none.
func (t *Table) Record(j *Job, m *sched.Message, report *wire.Item, effects *Effects) journal.Record {
	if report != nil && (report.Msg.Job != m.Job || report.Msg.First != m.First) {
		report = nil // of another task
	}
	r := &t.record // observers have it, and each task has records: one place costs no allocation
	*r = recordOf(m, report)
	if r.Kind == journal.JobEnded {
		r.Ended = t.decide(j, m)
	}
	if report != nil && (m.Kind == sched.TaskEnded || m.Kind == sched.NewAttempt && m.Count == 0) {
		t.applied = report
	}
	effects.batch = t.batch
	t.observe(Change{Kind: Recorded, Job: j, Record: r, Report: report, Batch: t.batch})
	j.apply(r)
	if r.Kind == journal.JobEnded {
		t.join(j)
		final := r.Ended.Status
		j.Final = &final
		effects.ended = append(effects.ended, j)
	}
	return *r
}

// recordOf returns a record of the core in the form of the journal, without a job's end.
func recordOf(m *sched.Message, report *wire.Item) journal.Record {
	r := journal.Record{Job: m.Job, First: m.First, Count: m.Count, Attempt: m.Attempt, Losses: m.Losses, Retries: m.Retries, Outcome: m.Outcome, Reason: m.Reason, Node: m.Node}
	switch m.Kind {
	case sched.Placed:
		r.Kind, r.Group = journal.Placed, m.Peer.ID
		if m.Marks.Has(sched.Moved) {
			r.Kind = journal.Moved
		}
	case sched.Reclass:
		r.Kind, r.Class = journal.Reclassed, m.Class
	case sched.NewAttempt:
		r.Kind, r.Apart = newAttemptKind(m), m.Marks.Has(sched.Apart)
		if report != nil && m.Count == 0 {
			setFailure(&r, report)
			r.Elapsed = report.Elapsed
			if r.Kind == journal.NewAttempt {
				r.Node = report.From.Name
			}
		}
	case sched.NotLost:
		r.Kind = journal.NotLost
	case sched.TaskEnded:
		r.Kind, r.At = journal.TaskEnded, time.Now().UnixNano()
		if report != nil {
			r.Kind, r.Node, r.Elapsed = journal.TaskReported, report.From.Name, report.Elapsed
			switch m.Outcome {
			case sched.Failed:
				setFailure(&r, report)
			case sched.Done:
				r.Reason = api.Clip(report.Msg.Reason, 1000) // what it left running, say
			}
		}
	case sched.Cancel:
		r.Kind, r.At = journal.Cancelled, time.Now().UnixNano()
	case sched.JobEnded:
		r.Kind = journal.JobEnded
	}
	return r
}

func newAttemptKind(m *sched.Message) journal.Kind {
	switch {
	case m.Count > 0:
		return journal.NewAttempts
	case m.Node != "":
		return journal.Lost
	}
	return journal.NewAttempt
}

// setFailure sets what a record of the journal has of the failure that was reported. A code that
// this version does not know is none.
func setFailure(r *journal.Record, report *wire.Item) {
	if r.Exit = int(int16(report.Exit)); slices.Contains(api.FailureCodes(), report.Code) { //nolint:gosec // at most 128 + a signal's number
		r.Code = report.Code
	}
	if !report.Started.IsZero() {
		r.Began = report.Started.UnixNano()
	}
}

// apply applies a record that is new, or that the journal has.
func (j *Job) apply(r *journal.Record) {
	switch r.Kind {
	case journal.Reclassed:
		j.class, j.Status.Class = r.Class, r.Class.String()
	case journal.NewAttempt, journal.NewAttempts, journal.Lost:
		count := max(r.Count, 1)
		j.Status.Attempts += int(count)
		for i := r.First; i < r.First+count; i++ {
			j.tasks[i].attempt = r.Attempt
		}
	case journal.TaskEnded, journal.TaskReported:
		j.tasks[r.First] = task{r.Attempt, r.Outcome != sched.Unfinished}
		if r.Outcome == sched.Failed {
			j.Status.Failed++
		} else {
			j.Status.Completed++
			if r.Outcome == sched.Done && r.Reason != "" && j.Status.Reason == "" {
				j.Status.Reason = fmt.Sprintf("task %d succeeded; %s", r.First, r.Reason)
			}
		}
	default:
	}
}

// decide returns the final status of a job, which is shown when it is on the disk.
func (t *Table) decide(j *Job, m *sched.Message) *journal.Ended {
	s := j.Status
	s.State = map[sched.Outcome]api.State{sched.Done: api.StateCompleted, sched.Failed: api.StateFailed, sched.Killed: api.StateCancelled}[m.Outcome]
	s.Reason, s.Ended, s.Running = cmp.Or(m.Reason, s.Reason), unixSeconds(time.Now()), 0
	s.Seconds = (t.opts.Clock.Now() - j.Arrived).Seconds()
	return &journal.Ended{Job: j.ID, Key: s.Job, Status: s, Fingerprint: j.fingerprint}
}

// Unused is called for each report that was stepped. Of one that caused no record, observers may
// have something for the journal to keep: ok reports whether they do.
func (t *Table) Unused(report *wire.Item) (kept journal.Record, ok bool) {
	used := t.applied == report
	t.applied = nil
	j, first := t.jobs[report.Msg.Job], report.Msg.First
	if used || j == nil || j.Grant != nil || report.Elapsed <= 0 || first < 0 || int(first) >= j.Status.Tasks {
		return kept, false
	}
	t.record = journal.Record{}
	t.observe(Change{Kind: Late, Job: j, Record: &t.record, Report: report})
	return t.record, t.record.Kind != 0
}

// Release carries out what waited until the records of a batch are on the disk.
func (t *Table) Release(e *Effects) {
	if e.batch > 0 {
		t.observe(Change{Kind: Written, Batch: e.batch})
	}
	for _, j := range e.ended {
		t.retire(j)
	}
}

// retire drops the submission of an ended job and answers the callers that wait for it.
func (t *Table) retire(j *Job) {
	if j.restored {
		j.restored = false
		t.restored--
	}
	j.Ended, j.Status, j.endedAt = true, *j.Final, time.Now()
	j.Final, j.Submission, j.tasks = &j.Status, nil, nil
	t.observe(Change{Kind: Ended, Job: j})
	for _, w := range j.waiting {
		w <- j.Status
	}
	j.waiting = nil
	t.ended.add(j)
	t.forget()
}
