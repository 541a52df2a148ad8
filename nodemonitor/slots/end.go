package slots

import (
	"slices"
	"time"

	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/internal/telemetry"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend"
)

// ended steps the end of an attempt. An attempt of an earlier process may end before the master
// has numbered the worker: its end waits until the worker has a core, or the node stops.
func (s *Workers) ended(w *worker, r *backend.Result) {
	a := w.attempts.find(r.ID)
	if a == nil || a.phase == waiting {
		s.cfg.Metrics.ignored.Inc()
		return
	}
	if w.core == nil && !s.admission.stopping {
		w.early = append(w.early, *r)
		return
	}
	s.withdrawn(a, r)
	s.message = sched.Message{
		Kind: sched.Ended, Job: r.ID.Job, First: r.ID.Task, Attempt: r.ID.Attempt, Outcome: r.Outcome, Reason: r.Reason,
	}
	now := step{worker: w, ended: r}
	if w.core != nil {
		s.cores.carryOut(now, sched.Addr{}, &s.message)
	} else {
		s.cores.run.report(&now, a.distributor, &s.message)
	}
	s.attempts.drop(a)
	s.workers.removeIfEmpty(w)
}

// stepEarly steps the ends that have waited for the worker's core.
func (s *Workers) stepEarly(w *worker) {
	early := w.early
	w.early = nil
	for i := range early {
		s.ended(w, &early[i])
	}
}

// kill steps a Kill or Yield. The backend kills an attempt that has started; one that
// waits is forgotten. A worker without a core has attempts of an earlier process only, which
// have started.
func (s *Workers) kill(w *worker, from sched.Addr, m *sched.Message) {
	if w.core == nil {
		if a := w.attempts.find(m.AttemptID()); a != nil {
			a.kill()
		}
		return
	}
	s.cores.step(w, from, m)
	if a := w.attempts.find(m.AttemptID()); a != nil && a.phase == waiting && !w.core.Holds(a.id) {
		s.attempts.drop(a)
	}
}

// KillJob kills the attempts of a job that its frontend does not know
// (docs/design.md, section 2, rule 2), but none that arrived after before: the job may have
// been submitted since.
func (s *Workers) KillJob(frontend sched.Addr, job sched.JobID, before time.Time) {
	for _, w := range s.workers.live() {
		for _, a := range slices.Clone(w.attempts.list) {
			if a.id.Job == job && a.distributor == frontend && !a.received.After(before) {
				telemetry.LogTrace(s.cfg.Log, telemetry.Carrier(a.Trace)).Warn("killing an attempt of a job that its frontend does not know", "attempt", a.id, "frontend", nameOf(s.cfg.Names, frontend).Name)
				s.killUnknown(w, a)
			}
		}
	}
}

// killUnknown kills an attempt that its frontend does not know. The end of one that
// waited is reported to the central scheduler that queued it here.
func (s *Workers) killUnknown(w *worker, a *attempt) {
	id, waited := a.id, a.phase == waiting
	s.kill(w, sched.Addr{}, &sched.Message{Kind: sched.Kill, Job: id.Job, First: id.Task, Attempt: id.Attempt, Epoch: s.epoch})
	if waited && w.attempts.find(id) == nil {
		s.out.toMaster(w, &sched.Message{Kind: sched.Idle, Job: id.Job, First: id.Task, Attempt: id.Attempt})
	}
}

// ForgetWaiting drops the attempts of a frontend that have not started: no process is there
// to take their results. Their ends are reported to the central scheduler that queued them
// here.
func (s *Workers) ForgetWaiting(frontend sched.Addr) (forgotten int) {
	for _, w := range s.workers.live() {
		for _, a := range slices.Clone(w.attempts.list) {
			if a.distributor == frontend && a.phase == waiting {
				s.killUnknown(w, a)
				forgotten++
			}
		}
	}
	return forgotten
}
