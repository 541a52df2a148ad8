package nodemonitor

import (
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend"
)

// ended gives a worker's core the end of an attempt.
func (o *owner) ended(w *worker, r *backend.Result) {
	a := w.find(r.ID)
	if a == nil || a.phase == waiting {
		o.meter.ignored.Inc()
		return
	}
	if o.stopping && r.Outcome == sched.Killed && !a.killed {
		r.Outcome, r.Reason = sched.Lost, backend.Stopping // nobody asked for its end: it is to run elsewhere
	}
	w.ended = r
	o.message = sched.Message{
		Kind: sched.Ended, Job: r.ID.Job, First: r.ID.Task, Attempt: r.ID.Attempt, Outcome: r.Outcome, Reason: r.Reason,
	}
	o.step(w, sched.Addr{}, &o.message)
	w.ended = nil
	o.drop(a)
	o.removeLeft(w)
}

// reported keeps the result of an attempt, whose end is being stepped, or which
// was killed before it started.
func (o *owner) reported(w *worker, to sched.Addr, m *sched.Message) {
	a, f := w.find(m.AttemptID()), o.frontendOf(to)
	if a == nil || f == nil {
		return // launches of nobody are not taken
	}
	if a.twin {
		o.again(a.id)
		return
	}
	r := w.ended
	if r == nil {
		r = &backend.Result{ID: a.id, Outcome: m.Outcome, Reason: m.Reason}
	}
	kept := result{
		id: r.ID, outcome: m.Outcome, slot: w.number, reason: m.Reason, tail: r.Tail, exit: r.ExitCode, started: r.Started, finished: r.Finished,
		trace: o.spans.ran(o.self.Name, a, r),
	}
	if !r.Started.IsZero() {
		kept.elapsed = max(r.Finished.Sub(r.Started), 0)
		o.meter.ran[a.class].Observe(kept.elapsed.Seconds())
	}
	o.meter.ended[m.Outcome].Inc()
	o.keep(f, kept)
}

// killed has a core take a kill: what has started is stopped by its backend, what
// waits is forgotten.
func (o *owner) killed(w *worker, from sched.Addr, m *sched.Message) {
	o.step(w, from, m)
	if a := w.find(m.AttemptID()); a != nil && a.phase == waiting && !w.core.Holds(a.id) {
		o.drop(a)
	}
}
