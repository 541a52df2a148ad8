package nodemonitor

import (
	"slices"

	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend"
	"github.com/pigeon-sched/pigeon/nodemonitor/results"
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
	a := w.find(m.AttemptID())
	if a == nil || !o.results.CanReport(to) {
		return // launches of nobody are not taken
	}
	if a.twin {
		o.results.Resend(a.id)
		return
	}
	r := w.ended
	if r == nil {
		r = &backend.Result{ID: a.id, Outcome: m.Outcome, Reason: m.Reason}
	}
	kept := results.Result{
		ID: r.ID, Outcome: m.Outcome, Slot: w.number, Reason: m.Reason, Tail: r.Tail, Exit: r.ExitCode, Started: r.Started, Finished: r.Finished,
		Trace: o.spans.ran(o.self.Name, a, r),
	}
	if !r.Started.IsZero() {
		kept.Elapsed = max(r.Finished.Sub(r.Started), 0)
		o.meter.ran[a.class].Observe(kept.Elapsed.Seconds())
	}
	o.meter.ended[m.Outcome].Inc()
	o.results.Keep(to, kept)
}

// killed has a core take a kill: what has started is stopped by its backend, what
// waits is forgotten.
func (o *owner) killed(w *worker, from sched.Addr, m *sched.Message) {
	o.step(w, from, m)
	if a := w.find(m.AttemptID()); a != nil && a.phase == waiting && !w.core.Holds(a.id) {
		o.drop(a)
	}
}

// unknownJob kills what is here of a job that its frontend does not know (design.md,
// section 2, rule 2).
func (o *owner) unknownJob(frontend sched.Addr, job sched.JobID) {
	for _, w := range o.live() {
		for _, a := range slices.Clone(w.attempts) {
			if a.id.Job == job && a.owner == frontend {
				o.log.Warn("killing an attempt of a job that its frontend does not know", "attempt", a.id, "frontend", o.nameOf(frontend).Name)
				o.disown(w, a)
			}
		}
	}
}

// disown kills an attempt that nobody asked for. Of one that only waited, the
// central scheduler that had it wait here is told the end.
func (o *owner) disown(w *worker, a *attempt) {
	id, waited := a.id, a.phase == waiting
	o.killed(w, sched.Addr{}, &sched.Message{Kind: sched.Kill, Job: id.Job, First: id.Task, Attempt: id.Attempt, Epoch: o.epoch})
	if waited && w.find(id) == nil {
		o.toMaster(w, &sched.Message{Kind: sched.Idle, Job: id.Job, First: id.Task, Attempt: id.Attempt})
	}
}
