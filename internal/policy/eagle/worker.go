package eagle

import (
	"github.com/pigeon-sched/pigeon/internal/policy/probing"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Worker is one slot that rejects reservations while it has long work.
type Worker struct {
	*probing.Worker
	more *sched.More // the newest bitmap it got
}

// NewWorker returns an idle slot.
func NewWorker(cfg sched.WorkerConfig, o Options) *Worker {
	order := order{slack: o.Slack}
	return &Worker{Worker: probing.NewWorker(cfg, probing.Rules{Next: order.next, Started: order.took, Sticky: true})}
}

// Step implements [sched.Core].
func (w *Worker) Step(now sched.Time, from sched.Addr, m *sched.Message, out *sched.Actions) {
	if !m.Valid() {
		return
	}
	switch {
	case m.Kind == sched.Probe && m.Attempt < lastTry && w.Long() > 0:
		r := out.Send(from, sched.ProbeRejected)
		r.Job, r.Attempt, r.More = m.Job, m.Attempt, w.more
		return
	case m.Kind == sched.Launch && m.More != nil && (w.more == nil || m.More.Stamp > w.more.Stamp):
		w.more = m.More
	}
	w.Worker.Step(now, from, m, out)
}
