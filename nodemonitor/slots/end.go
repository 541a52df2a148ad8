package slots

import (
	"slices"

	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend"
	"github.com/pigeon-sched/pigeon/nodemonitor/results"
)

// End is the end of an attempt at a worker, on its way from a backend.
type End struct {
	worker *worker
	result backend.Result
}

// Ended steps the end of an attempt.
func (s *Workers) Ended(e *End) {
	w, r := e.worker, &e.result
	a := w.attempts.find(r.ID)
	if a == nil || a.phase == waiting {
		s.cfg.Metrics.ignored.Inc()
		return
	}
	if s.stopping && r.Outcome == sched.Killed && !a.killed {
		r.Outcome, r.Reason = sched.Lost, backend.Stopping // the node's own doing: it is to run elsewhere
	}
	w.ended = r
	s.message = sched.Message{
		Kind: sched.Ended, Job: r.ID.Job, First: r.ID.Task, Attempt: r.ID.Attempt, Outcome: r.Outcome, Reason: r.Reason,
	}
	s.step(w, sched.Addr{}, &s.message)
	w.ended = nil
	s.drop(a)
	s.removeIfEmpty(w)
}

func (s *Workers) drop(a *attempt) { s.attempts.drop(a, len(s.list)) }

// report keeps the result of an attempt whose end is being stepped, or which was
// killed before it started.
func (s *Workers) report(w *worker, to sched.Addr, m *sched.Message) {
	a := w.attempts.find(m.AttemptID())
	if a == nil || !s.cfg.Results.CanReport(to) {
		return // launches that name no frontend are not accepted
	}
	if a.duplicate {
		s.cfg.Results.Resend(a.id)
		return
	}
	r := w.ended
	if r == nil {
		r = &backend.Result{ID: a.id, Outcome: m.Outcome, Reason: m.Reason}
	}
	kept := results.Result{
		ID: r.ID, Outcome: m.Outcome, Slot: w.number, Reason: m.Reason, Tail: r.Tail, Exit: r.ExitCode, Started: r.Started, Finished: r.Finished,
		Trace: s.spans.record(s.cfg.Node.Name, a, r),
	}
	if !r.Started.IsZero() {
		kept.Elapsed = max(r.Finished.Sub(r.Started), 0)
		s.cfg.Metrics.ran[a.class].Observe(kept.Elapsed.Seconds())
	}
	s.cfg.Metrics.ended[m.Outcome].Inc()
	s.cfg.Results.Keep(to, kept)
}

// kill steps a Kill or Yield: what has started is killed by its backend, what waits is
// forgotten.
func (s *Workers) kill(w *worker, from sched.Addr, m *sched.Message) {
	s.step(w, from, m)
	if a := w.attempts.find(m.AttemptID()); a != nil && a.phase == waiting && !w.core.Holds(a.id) {
		s.drop(a)
	}
}

// KillJob kills what is here of a job that its frontend does not know
// (docs/design.md, section 2, rule 2).
func (s *Workers) KillJob(frontend sched.Addr, job sched.JobID) {
	for _, w := range s.live() {
		for _, a := range slices.Clone(w.attempts.list) {
			if a.id.Job == job && a.owner == frontend {
				s.cfg.Log.Warn("killing an attempt of a job that its frontend does not know", "attempt", a.id, "frontend", s.nameOf(frontend).Name)
				s.killUnknown(w, a)
			}
		}
	}
}

// killUnknown kills an attempt that its frontend does not know. The end of one that
// only waited is reported to the central scheduler that had it wait here.
func (s *Workers) killUnknown(w *worker, a *attempt) {
	id, waited := a.id, a.phase == waiting
	s.kill(w, sched.Addr{}, &sched.Message{Kind: sched.Kill, Job: id.Job, First: id.Task, Attempt: id.Attempt, Epoch: s.epoch})
	if waited && w.attempts.find(id) == nil {
		s.out.toMaster(w, &sched.Message{Kind: sched.Idle, Job: id.Job, First: id.Task, Attempt: id.Attempt})
	}
}
