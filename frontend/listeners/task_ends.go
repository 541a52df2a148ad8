package listeners

import (
	"github.com/pigeon-sched/pigeon/frontend/jobs"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// TaskEnds tells applications of the ends of their tasks that ran in a built-in backend, when these are
// on the disk. Of others an application learns from its own backend.
type TaskEnds struct {
	Listeners *Listeners
	Scheduler string // where the frontend serves applications, set before the first job

	waiting jobs.Queue[taskEnd]
}

type taskEnd struct {
	app string
	Message
}

var _ jobs.Observer = (*TaskEnds)(nil)

// Observe sends the messages of a batch that is on the disk.
func (e *TaskEnds) Observe(c jobs.Change) {
	switch {
	case c.Kind == jobs.Written:
		e.waiting.Written(c.Batch, func(m *taskEnd) { e.Listeners.SendEnd(m.app, m.Message) })
	case c.Kind != jobs.Recorded || !c.Ends():
	case c.Job.Submission.Request.App != "" && c.Job.Submission.Request.Backend != api.BackendApp:
		e.waiting.Add(c.Batch, e.of(&c))
	}
}

func (e *TaskEnds) of(c *jobs.Change) taskEnd {
	sub := c.Job.Submission
	m := taskEnd{sub.Request.App, Message{Task: wire.TaskRef{
		Task: sub.Request.Tasks[c.Record.First].ID, Job: c.Job.Status.Job, App: api.PlainApp(sub.Request.App), HT: sub.Class == sched.Short, Scheduler: e.Scheduler,
	}}}
	if c.Record.Outcome == sched.Failed {
		m.Status = 1
	}
	return m
}
