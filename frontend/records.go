package frontend

import (
	"time"

	"github.com/pigeon-sched/pigeon/frontend/journal"
	"github.com/pigeon-sched/pigeon/frontend/listeners"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// persist notes a record of the core for the journal, and what it means to the
// job's status.
func (o *owner) persist(m *sched.Message) {
	j := o.jobs[m.Job]
	if j == nil {
		return
	}
	if j.grant != nil {
		o.persistGrant(j, m)
		return
	}
	r := journal.Record{Job: m.Job, First: m.First, Count: m.Count, Attempt: m.Attempt, Losses: m.Losses, Retries: m.Retries, Outcome: m.Outcome, Reason: m.Reason}
	switch m.Kind {
	case sched.Placed:
		r.Kind, r.Group = journal.Placed, m.Peer.ID
		if m.Marks.Has(sched.Moved) {
			r.Kind = journal.Moved
		}
	case sched.Reclass:
		r.Kind, r.Class = journal.Reclassed, m.Class
	case sched.NewAttempt:
		r.Kind = journal.NewAttempt
		j.status.Attempts++
		o.meter.retried(m.Outcome)
		o.tellLife(j, m.First, m.Attempt-1, m.Outcome.String())
		o.spans.again(j, o.reportOf(m), m)
	case sched.TaskEnded:
		r.Kind, r.At = journal.TaskEnded, time.Now().UnixNano()
		o.taskEnded(j, m, &r)
		o.tellResult(j, m)
	case sched.Cancel:
		r.Kind, r.At = journal.Cancelled, time.Now().UnixNano()
	case sched.JobEnded:
		r.Kind = journal.JobEnded
		r.Ended = o.jobEnded(j, m)
		o.tellLife(j, -1, 0, string(j.final.State))
	}
	o.batch.records = append(o.batch.records, r)
}

// reportOf returns the report being stepped if it is of the task of m.
func (o *owner) reportOf(m *sched.Message) *wire.Item {
	if it := o.current; it != nil && it.Msg.Job == m.Job && it.Msg.First == m.First {
		return it
	}
	return nil
}

// taskEnded books an accepted result.
func (o *owner) taskEnded(j *job, m *sched.Message, r *journal.Record) {
	rep := &j.reports[m.First]
	rep.attempt, rep.failed = m.Attempt, m.Outcome == sched.Failed
	if it := o.reportOf(m); it != nil {
		rep.elapsed, rep.node = it.Elapsed, o.nodes.index(o.reporter)
		r.Elapsed, rep.exit = it.Elapsed, int16(it.Exit) //nolint:gosec // at most 128 + a signal's number
		o.meter.taskEnded(j.sub.Class, o.clock.Now()-j.arrived, it.Elapsed)
		o.spans.reported(j, it)
	}
	if rep.failed {
		j.status.Failed++
	} else {
		j.status.Completed++
	}
	if j.sub.Request.Backend == api.BackendApp || j.sub.Request.App == "" {
		return // the application hears from its own backend
	}
	status := int32(0)
	if rep.failed {
		status = 1
	}
	o.batch.ends = append(o.batch.ends, taskEnd{j.sub.Request.App, listeners.Message{Status: status, Task: wire.TaskRef{
		Task: j.sub.Request.Tasks[m.First].ID, Job: j.status.Job, App: j.sub.Request.App, Scheduler: o.scheduler,
		HT: j.sub.Class == sched.Short,
	}}})
}

// jobEnded books the end of a job; it is told when it is on the disk.
func (o *owner) jobEnded(j *job, m *sched.Message) *journal.Ended {
	now := time.Now()
	s := j.status
	s.State = map[sched.Outcome]api.State{sched.Done: api.StateCompleted, sched.Failed: api.StateFailed, sched.Killed: api.StateCancelled}[m.Outcome]
	s.Reason, s.Ended, s.Running = m.Reason, unixSeconds(now), 0
	s.Seconds = (o.clock.Now() - j.arrived).Seconds()
	j.final = &s
	o.meter.jobEnded(j)
	o.batch.ended = append(o.batch.ended, j)
	return &journal.Ended{Job: j.id, Key: s.Job, At: now.UnixNano(), Status: s}
}
