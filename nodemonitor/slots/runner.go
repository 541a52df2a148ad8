package slots

import (
	"fmt"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/internal/telemetry"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend"
	"github.com/pigeon-sched/pigeon/nodemonitor/results"
)

// runner runs attempts in backends and keeps their results.
type runner struct {
	cfg      *Config
	attempts *attempts
	fence    *fence
	spans    spans
}

// start runs the attempt of the launch being stepped, or one that has waited.
func (r *runner) start(w *worker, id sched.AttemptID) {
	a := w.attempts.find(id)
	if a == nil {
		a = r.attempts.admit(w) // cores start only what was launched
	}
	r.cfg.Results.Reached(a.distributor, a.FrontendAddress)
	r.attempts.enter(a, running)
	if a.continued {
		return
	}
	if !r.fence.pass(id) {
		// The sender did not know that. The attempt is not run twice.
		a.duplicate = true
		r.cfg.Metrics.refusals[refusedRepeated].Inc()
		w.done(backend.Result{ID: id, Outcome: r.repeated(a)})
		return
	}
	r.attempts.started[id] = a
	if r.cfg.Kept.IsSilent(a.distributor) && !r.cfg.Kept.HasRoom(a.distributor, r.attempts) {
		// Only where launches are not denied. The attempt counts for nothing, and its
		// frontend makes the next one.
		w.done(backend.Result{ID: id, Outcome: sched.Yielded, Reason: r.cfg.Kept.Fullness(a.distributor)})
		return
	}
	t := a.task()
	t.Began = r.attempts.reportsBegin(a)
	b := r.cfg.Backends[t.Payload.Backend]
	if b == nil {
		w.done(backend.Result{ID: id, Outcome: sched.Failed, Reason: r.noBackend(&t)})
		return
	}
	if end := r.aboveNode(&t); end != nil {
		w.done(*end)
		return
	}
	if a.cut = r.attempts.cutOff(a); a.cut != "" {
		w.done(backend.Result{ID: id, Outcome: sched.Killed})
		return
	}
	a.backend = b
	if r.cfg.Note != nil && t.Payload.Backend == api.BackendExec && a.MaxDisconnect == 0 {
		// An attempt that must not continue while its node is cut off needs this process to
		// watch that.
		t.Note = r.cfg.Note(a.launch(r.cfg))
	}
	b.Start(t, w.done)
}

// repeated returns the outcome of a second start of an attempt: Done while it runs in
// another slot or its result is kept, because that is its result; Yielded when it has ended
// and its result was acknowledged, or was not wanted. A frontend that still waits for the
// task then gives it another number. So does one that launched it with another secret: its journal
// was lost, it counts attempts from the first number again, and does not believe the result of the
// attempt that its former journal had.
func (r *runner) repeated(a *attempt) sched.Outcome {
	if first, runs := r.attempts.started[a.id]; runs && first.Secret == a.Secret || r.cfg.Kept.KeepsOf(a.id, a.Secret) {
		return sched.Done
	}
	return sched.Yielded
}

func (r *runner) noBackend(t *backend.Task) string {
	return (&api.Error{
		What: fmt.Sprintf("there is no backend %q", t.Payload.Backend), Subject: t.Subject(),
		Tried: fmt.Sprintf("starting it on node %q", r.cfg.Node.Name), Next: "run the same version of pigeon on all hosts",
	}).Error()
}

// suspend suspends or resumes an attempt. One whose backend cannot suspend it
// continues alongside the task that uses its slot; frontends and masters prevent that.
func (r *runner) suspend(a *attempt, stop bool) {
	to, err := running, error(nil)
	if stop {
		to = suspended
	}
	r.attempts.enter(a, to)
	b, can := a.backend.(backend.Suspender)
	switch {
	case a.duplicate:
	case !can:
		telemetry.LogTrace(r.cfg.Log, telemetry.Carrier(a.Trace)).Warn("an attempt cannot be suspended or resumed by its backend", "attempt", a.id, "job", a.JobName)
	case stop:
		err = b.Suspend(a.id)
	default:
		err = b.Resume(a.id)
	}
	if err != nil {
		telemetry.LogTrace(r.cfg.Log, telemetry.Carrier(a.Trace)).Debug("an attempt ended before it could be suspended or resumed", "attempt", a.id, "error", err)
	}
}

// report keeps the result of an attempt whose end is being stepped, or that was killed
// before it started.
func (r *runner) report(w *worker, to sched.Addr, m *sched.Message) {
	a := w.attempts.find(m.AttemptID())
	if a == nil || !r.cfg.Results.CanReport(to) {
		return // launches that name no frontend are not accepted
	}
	if a.duplicate {
		if w.ended == nil || w.ended.Outcome != sched.Yielded {
			r.cfg.Results.Resend(a.id)
			return
		}
		r.cfg.Results.Keep(to, results.Result{ID: a.id, Outcome: sched.Yielded, Slot: w.number, Reason: "the node has started it before", Secret: a.Secret})
		return
	}
	end := w.ended
	if end == nil {
		end = &backend.Result{ID: a.id, Outcome: m.Outcome, Reason: m.Reason}
	}
	outcome, reason := m.Outcome, m.Reason
	if w.ended == nil && a.cut != "" { // it waited, and this node gives it back
		outcome, reason = sched.Yielded, a.cut
	}
	kept := results.Result{
		ID: end.ID, Outcome: outcome, Slot: w.number, Reason: reason, Tail: end.Tail, Exit: end.ExitCode, Code: end.Code, Started: end.Started, Finished: end.Finished,
		Trace: r.spans.record(r.cfg.Node.Name, a, end), Secret: a.Secret, Together: uint8(min(end.Together, 255)), //nolint:gosec // bounded
	}
	if !end.Started.IsZero() {
		kept.Elapsed = max(end.Finished.Sub(end.Started), 0)
		if a.paused {
			kept.Suspended = max(kept.Elapsed-a.programRan(), 0)
		}
		telemetry.ObserveTraced(r.cfg.Metrics.ran[a.class], kept.Elapsed.Seconds(), telemetry.Carrier(a.Trace))
	}
	r.cfg.Metrics.ended[outcome].Inc()
	if outcome == sched.Failed {
		r.cfg.Metrics.failed[failureLabel(end.Code)].Inc()
	}
	r.cfg.Results.Keep(to, kept)
}

// yield reports to a frontend that a task that it has bound to the worker does not run
// there. It does so by a result, which counts for nothing, because results are repeated
// until they are journaled: a message would be dropped while the frontend is not a member,
// and the frontend would wait for that task forever.
func (r *runner) yield(w *worker, to sched.Addr, m *sched.Message) {
	if _, runs := r.attempts.started[m.AttemptID()]; runs || !r.cfg.Results.CanReport(to) {
		return
	}
	r.cfg.Results.Reached(to, w.launch.FrontendAddress)
	r.cfg.Results.Keep(to, results.Result{ID: m.AttemptID(), Outcome: sched.Yielded, Slot: w.number, Reason: m.Reason, Secret: w.launch.Secret})
}
