package slots

import (
	"fmt"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend"
)

// start runs an attempt: that of the launch being stepped, or one that has waited.
func (s *Workers) start(w *worker, id sched.AttemptID) {
	a := w.attempts.find(id)
	if a == nil {
		a = s.attempts.admit(w) // cores start only what was launched
	}
	s.cfg.Results.Reached(a.owner, a.OwnerAddress)
	s.attempts.enter(a, running)
	if s.hasStarted(id) {
		// The attempt runs in another slot, or its result is kept: a master that
		// learned of it too late. It is not run twice.
		a.duplicate = true
		w.done(backend.Result{ID: id, Outcome: sched.Done})
		return
	}
	s.attempts.started[id] = a
	t := a.task()
	b := s.cfg.Backends[t.Payload.Backend]
	if b == nil {
		w.done(backend.Result{ID: id, Outcome: sched.Failed, Reason: s.noBackend(&t)})
		return
	}
	a.backend = b
	b.Start(t, w.done)
}

// hasStarted reports whether the attempt runs here, or has ended here a while ago.
func (s *Workers) hasStarted(id sched.AttemptID) bool {
	if s.cfg.Kept.Keeps(id) {
		return true
	}
	_, runs := s.attempts.started[id]
	return runs
}

func (s *Workers) noBackend(t *backend.Task) string {
	return (&api.Error{
		What: fmt.Sprintf("there is no backend %q", t.Payload.Backend), Subject: t.Subject(),
		Tried: fmt.Sprintf("starting it on node %q", s.cfg.Node.Name), Next: "run the same version of pigeon on all hosts",
	}).Error()
}

// suspend suspends or resumes an attempt. One whose backend cannot be suspended runs
// on beside the task that takes its slot: frontends and masters see to it that there
// is none.
func (s *Workers) suspend(a *attempt, hold bool) {
	to, err := running, error(nil)
	if hold {
		to = suspended
	}
	s.attempts.enter(a, to)
	b, can := a.backend.(backend.Suspender)
	switch {
	case a.duplicate:
	case !can:
		s.cfg.Log.Warn("an attempt cannot be suspended or resumed by its backend", "attempt", a.id, "job", a.JobName)
	case hold:
		err = b.Suspend(a.id)
	default:
		err = b.Resume(a.id)
	}
	if err != nil {
		s.cfg.Log.Debug("an attempt ended before it could be suspended or resumed", "attempt", a.id, "error", err)
	}
}
