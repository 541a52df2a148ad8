package jobs

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/pigeon-sched/pigeon/frontend/journal"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/internal/telemetry"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// Effects are the consequences of the core's records outside the core. They are carried
// out when the records are on the disk.
type Effects struct {
	TaskEnds []TaskEnd
	ended    []*Job
	life     []lifeEvent
	events   []api.Event
}

// TaskEnd is the end of a task of a built-in backend, for its application.
type TaskEnd struct {
	App    string
	Task   wire.TaskRef
	Failed bool
}

// records applies the core's records to the jobs and collects their effects.
type records struct {
	opts  Options
	spans spans
	nodes nodeNames
	apart sched.Owed // sums over the held jobs, which the core does not know

	applied *wire.Item // the report whose attempt was counted last
}

// Record applies a record of the core to the status of its job, adds its effects, and
// returns it in the form of the journal. report is the report that is being stepped, nil
// for none.
func (t *records) Record(j *Job, m *sched.Message, report *wire.Item, effects *Effects) journal.Record {
	if report != nil && (report.Msg.Job != m.Job || report.Msg.First != m.First) {
		report = nil // of another task
	}
	r := journal.Record{Job: m.Job, First: m.First, Count: m.Count, Attempt: m.Attempt, Losses: m.Losses, Retries: m.Retries, Outcome: m.Outcome, Reason: m.Reason, Node: m.Node, Apart: m.Kind == sched.NewAttempt && m.Marks.Has(sched.Apart)}
	switch m.Kind {
	case sched.Placed:
		r.Kind, r.Group = journal.Placed, m.Peer.ID
		if m.Marks.Has(sched.Moved) {
			r.Kind = journal.Moved
		}
	case sched.Reclass:
		r.Kind, r.Class = journal.Reclassed, m.Class
		j.turned(m.Class, t.opts.Clock.Now())
		t.addReclassed(effects, j, m)
	case sched.NewAttempt:
		r.Kind = journal.NewAttempt
		switch {
		case m.Count > 0:
			r.Kind = journal.NewAttempts
		case m.Node != "":
			r.Kind = journal.Lost
		}
		for task := m.First; task < m.First+max(m.Count, 1); task++ {
			before := j.Attempt(task)
			t.opts.Metrics.retried(m.Outcome)
			t.addLife(effects, j, task, before, m.Outcome.String())
			t.spans.retried(j, report, m, task, before)
		}
		t.addRetried(effects, j, m, report)
		if m.Count == 0 {
			t.retried(j, m, report, &r)
		}
		t.countRetried(j, m, report)
		j.newAttempts(m)
	case sched.NotLost:
		r.Kind = journal.NotLost
	case sched.TaskEnded:
		r.Kind, r.At = journal.TaskEnded, time.Now().UnixNano()
		t.taskEnded(j, m, report, &r, effects)
		t.addResult(effects, j, m, report)
		t.addTaskEnd(effects, j, m, report)
	case sched.Cancel:
		r.Kind, r.At = journal.Cancelled, time.Now().UnixNano()
	case sched.JobEnded:
		r.Kind = journal.JobEnded
		r.Ended = t.jobEnded(j, m, effects)
		t.addLife(effects, j, -1, 0, string(j.final.State))
		t.addJobEnd(effects, j)
	}
	return r
}

// taskEnded applies an accepted result.
func (t *records) taskEnded(j *Job, m *sched.Message, report *wire.Item, r *journal.Record, effects *Effects) {
	rep := &j.reports[m.First]
	rep.attempt, rep.outcome, rep.began = m.Attempt, m.Outcome, unknownStart
	t.counts(j, m.First, m.Attempt)
	if report != nil {
		r.Kind, r.Node = journal.TaskReported, report.From.Name
		rep.elapsed, rep.began = report.Elapsed, startOf(j, report)
		t.nodes.set(&rep.node, report.From.Name)
		r.Elapsed, rep.exit = report.Elapsed, int16(report.Exit) //nolint:gosec // at most 128 + a signal's number
		if rep.failed() {
			rep.code = codeOf(report.Code)
			setFailure(r, report)
		}
		t.opts.Metrics.taskEnded(j, t.opts.Clock.Now()-j.due, report.Elapsed)
		t.spans.reported(j, report)
		t.countAccepted(j, report)
		t.learn(j, report, !rep.failed())
	}
	j.countResult(rep.failed())
	if j.Submission.Request.Backend == api.BackendApp || j.Submission.Request.App == "" {
		return // the application learns of it from its own backend
	}
	effects.TaskEnds = append(effects.TaskEnds, TaskEnd{App: j.Submission.Request.App, Failed: rep.failed(), Task: wire.TaskRef{
		Task: j.Submission.Request.Tasks[m.First].ID, Job: j.Status.Job, App: api.PlainApp(j.Submission.Request.App), HT: j.Submission.Class == sched.Short,
	}})
}

// GrantEnded is called when a task of a job of grants has ended.
func (j *Job) GrantEnded() { j.quota.TaskEnded() }

func (j *Job) countResult(failed bool) {
	j.quota.TaskEnded()
	if failed {
		j.Status.Failed++
	} else {
		j.Status.Completed++
	}
}

// jobEnded sets the final status of a job, which is shown when it is on the disk.
func (t *records) jobEnded(j *Job, m *sched.Message, effects *Effects) *journal.Ended {
	now := time.Now()
	s := j.Status
	s.State = map[sched.Outcome]api.State{sched.Done: api.StateCompleted, sched.Failed: api.StateFailed, sched.Killed: api.StateCancelled}[m.Outcome]
	s.Reason, s.Ended, s.Running = m.Reason, unixSeconds(now), 0
	s.Seconds = (t.opts.Clock.Now() - j.arrived).Seconds()
	j.final = &s
	if m.Outcome != sched.Killed && !j.held {
		t.opts.Learner.JobEnded(&j.run)
	}
	t.join(j)
	t.opts.Metrics.jobEnded(j, t.opts.Clock.Now()-j.due)
	effects.ended = append(effects.ended, j)
	return &journal.Ended{Job: j.ID, Key: s.Job, Status: s, Fingerprint: j.fingerprint, Results: t.results(j), Earlier: t.earlierAttempts(j), Times: j.taskTimes(), Trace: j.trace.own, Usage: j.usage}
}

// addLife adds an event to the history.
func (t *records) addLife(effects *Effects, j *Job, task, attempt int32, event string) {
	if t.opts.History != nil {
		effects.life = append(effects.life, lifeEvent{at: t.opts.Clock.Now(), job: j.Status.Job, task: task, attempt: attempt, event: event})
	}
}

// addResult adds the start and the end of a task whose result was accepted.
func (t *records) addResult(effects *Effects, j *Job, m *sched.Message, report *wire.Item) {
	if t.opts.History == nil {
		return
	}
	reported := lifeEvent{at: t.opts.Clock.Now(), job: j.Status.Job, task: m.First, attempt: m.Attempt, event: "reported"}
	if report != nil {
		started := reported
		started.at -= sched.Time(report.Elapsed)
		started.event, started.where = "started", fmt.Sprintf("worker %s/%d", report.From.Name, report.From.Slot)
		started.clock, reported.clock = unixNano(report.Started), unixNano(report.Finished)
		effects.life = append(effects.life, started)
	}
	effects.life = append(effects.life, reported)
}

// Release carries out effects whose records are on the disk, except TaskEnds.
func (t *Table) Release(e *Effects) {
	if t.opts.History != nil {
		t.opts.History.write(e.life)
	}
	for i := range e.events {
		t.opts.Publish(e.events[i])
	}
	for _, j := range e.ended {
		t.retire(j)
	}
}

// logEnd writes at level debug how a job ended, with the id of its trace.
func (t *Table) logEnd(j *Job) {
	if log := t.opts.Log; log != nil && log.Enabled(context.Background(), slog.LevelDebug) {
		telemetry.LogTrace(log, telemetry.Carrier(j.trace.carrier)).Debug("a job ended", "job", j.Status.Job, "state", j.Status.State, "seconds", j.Status.Seconds, "attempts", j.Status.Attempts)
	}
}

// retire drops the submission of an ended job and answers the callers that wait for it.
func (t *Table) retire(j *Job) {
	if j.restored {
		t.restored--
	}
	j.Ended, j.Status, j.endedAt = true, *j.final, time.Now()
	j.Submission = nil
	if t.opts.Usage != nil {
		t.opts.Usage.Add(UsageOf(&j.Status, &j.usage))
	}
	t.held.remove(j)
	t.logEnd(j)
	t.spans.ended(j)
	for _, w := range j.waiting {
		w <- j.Status
	}
	j.waiting = nil
	t.ended.add(j)
	t.forget()
}
