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
func (r *runner) start(now *step, id sched.AttemptID) {
	w := now.worker
	a := w.attempts.find(id)
	if a == nil {
		a = r.attempts.admit(w, now.launch, now.at) // cores start only what was launched
	}
	r.cfg.Results.Reached(a.distributor, a.FrontendAddress)
	r.attempts.enter(a, running)
	if a.continued {
		return
	}
	t := a.task()
	if end := r.unstartable(a, &t); end != nil {
		end.ID = id
		w.done(*end)
		return
	}
	a.backend = r.cfg.Backends[t.Payload.Backend]
	t.Began, t.Note = r.attempts.reportsBegin(a), r.note(a, &t)
	a.backend.Start(t, w.done)
}

// unstartable returns the end of an attempt that must not run, nil for one that may. One that
// has its id for the first time counts as started from now on.
func (r *runner) unstartable(a *attempt, t *backend.Task) *backend.Result {
	if !r.fence.pass(a.id) {
		// The sender did not know that. The attempt is not run twice.
		a.duplicate = true
		r.cfg.Metrics.refusals[refusedRepeated].Inc()
		return &backend.Result{Outcome: r.repeated(a)}
	}
	r.attempts.started[a.id] = a
	if r.cfg.Results.Capacity(a.distributor, &r.attempts.running) == results.Silent {
		// Only where launches are not denied. The attempt counts for nothing, and its
		// frontend makes the next one.
		return &backend.Result{Outcome: sched.Yielded, Reason: r.cfg.Results.Fullness(a.distributor)}
	}
	if r.cfg.Backends[t.Payload.Backend] == nil {
		return &backend.Result{Outcome: sched.Failed, Reason: r.noBackend(t)}
	}
	if end := r.aboveNode(t); end != nil {
		return end
	}
	if a.cut = r.attempts.cutOff(a); a.cut != "" {
		return &backend.Result{Outcome: sched.Killed}
	}
	return nil
}

// note describes a process for the next process of the node, nil for one that does not
// outlive this one: while its node is cut off, an attempt with max_disconnect must not go on
// without this process, which watches that.
func (r *runner) note(a *attempt, t *backend.Task) []byte {
	if r.cfg.Note == nil || t.Payload.Backend != api.BackendExec || a.MaxDisconnect != 0 {
		return nil
	}
	return r.cfg.Note(a.launch(r.cfg))
}

// repeated returns the outcome of a second start of an attempt: Done while it runs in
// another slot or its result is kept, because that is its result; Yielded when it has ended
// and its result was acknowledged, or was not wanted. A frontend that still waits for the
// task then gives it another number. So does one that launched it with another secret: its journal
// was lost, it counts attempts from the first number again, and does not believe the result of the
// attempt that its former journal had.
func (r *runner) repeated(a *attempt) sched.Outcome {
	if first, runs := r.attempts.started[a.id]; runs && first.Secret == a.Secret {
		return sched.Done
	}
	if kept := r.cfg.Results.Find(a.id); kept != nil && kept.Secret == a.Secret {
		return sched.Done
	}
	return sched.Yielded
}

func (r *runner) noBackend(t *backend.Task) string {
	return (&api.Error{
		What: fmt.Sprintf("there is no backend %q", t.Payload.Backend), Subject: t.On(r.cfg.Self.Ref.Name),
		Tried: "starting it", Next: "run the same version of pigeon on all hosts",
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
func (r *runner) report(now *step, to sched.Addr, m *sched.Message) {
	w, end := now.worker, now.ended
	a := w.attempts.find(m.AttemptID())
	if a == nil || !r.cfg.Results.CanReport(to) {
		return // launches that name no frontend are not accepted
	}
	if a.duplicate {
		if end == nil || end.Outcome != sched.Yielded {
			r.cfg.Results.Resend(a.id)
			return
		}
		r.cfg.Results.Keep(to, results.Result{ID: a.id, Outcome: sched.Yielded, Slot: w.number, Reason: "the node has started it before", Secret: a.Secret})
		return
	}
	outcome, reason := m.Outcome, m.Reason
	if end == nil {
		end = &backend.Result{ID: a.id, Outcome: m.Outcome, Reason: m.Reason}
		if a.cut != "" { // it waited, and this node gives it back
			outcome, reason = sched.Yielded, a.cut
		}
	}
	kept := results.Result{
		ID: end.ID, Outcome: outcome, Slot: w.number, Reason: reason, Tail: end.Tail, Exit: end.ExitCode, Code: end.Code, Started: end.Started, Finished: end.Finished,
		Trace: r.spans.record(r.cfg.Self.Ref.Name, a, end), Secret: a.Secret, Together: uint8(min(end.Together, 255)), //nolint:gosec // bounded
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
func (r *runner) yield(now *step, to sched.Addr, m *sched.Message) {
	it := now.launch
	if _, runs := r.attempts.started[m.AttemptID()]; runs || !r.cfg.Results.CanReport(to) {
		return
	}
	r.cfg.Results.Reached(to, it.FrontendAddress)
	r.cfg.Results.Keep(to, results.Result{ID: m.AttemptID(), Outcome: sched.Yielded, Slot: now.worker.number, Reason: m.Reason, Secret: it.Secret})
}
