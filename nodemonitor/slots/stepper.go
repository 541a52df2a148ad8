package slots

import (
	"github.com/pigeon-sched/pigeon/internal/runloop"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// stepper lets the workers' cores process messages, and carries out the actions that
// they return.
type stepper struct {
	cfg       *Config
	steps     *runloop.Stepper
	timers    *runloop.Timers
	admission *admission
	requests  *requests
	run       *runner
	out       *Outbox

	stepping *worker // whose core's actions are carried out
}

// step lets a worker's core process a message, and carries out its actions.
func (s *stepper) step(w *worker, from sched.Addr, m *sched.Message) {
	s.stepping = w
	s.steps.Step(w.core, w.self, s.cfg.Clock.Now(), from, m)
	s.cfg.Metrics.recount(w)
}

// act carries out one action of the core that is being stepped.
func (s *stepper) act(self sched.Addr, act *sched.Action) {
	w := s.stepping
	switch act.Kind {
	case sched.Send:
		s.send(w, act.To, &act.Msg)
	case sched.Timer:
		s.timers.Set(self, act.At, act.Token)
	case sched.Start:
		s.run.start(w, act.Msg.AttemptID())
	case sched.Stop:
		if a := w.attempts.find(act.Msg.AttemptID()); a != nil {
			a.kill()
		}
	case sched.Suspend, sched.Resume:
		if a := w.attempts.find(act.Msg.AttemptID()); a != nil {
			s.run.suspend(a, act.Kind == sched.Suspend)
		}
	}
}

// send queues a core's message; it leaves after the batch.
func (s *stepper) send(w *worker, to sched.Addr, m *sched.Message) {
	switch {
	case m.Kind == sched.Report:
		s.run.report(w, to, m)
	case m.Kind == sched.Refused:
		s.refuse(w, to, m)
	case to.Role != sched.Master:
		if !s.admission.stopping && (m.Kind != sched.Steal || s.admission.draining == "") { // otherwise no answer would be of use
			s.requests.send(w, to, m)
		}
	case m.Kind == sched.Idle && s.cfg.Policy.Sequenced:
		s.sendIdle(w, m)
	default:
		s.out.toMaster(w, m)
	}
}

// sendIdle reports to the master that the slot is free: by a notice, or by Thrift
// behind the refusal to which it belongs. After a denied launch the slot is withheld,
// or the master would offer the same task again at once.
func (s *stepper) sendIdle(w *worker, m *sched.Message) {
	switch {
	case s.admission.stopping:
	case w.denial != "":
		w.withheld = true
	case w.refused:
		s.out.toMaster(w, m)
	default:
		s.out.idle(w, m)
	}
}

// refuse returns a launch to its sender.
func (s *stepper) refuse(w *worker, to sched.Addr, m *sched.Message) {
	s.cfg.Metrics.refusals[refusalLabel(m)].Inc()
	w.refused = true
	if to.Role == sched.Master {
		s.out.toMaster(w, m)
		return
	}
	s.run.yield(w, to, m)
}

// refusalLabel returns the label under which a refusal is counted.
func refusalLabel(m *sched.Message) int {
	switch sched.RefusalOf(m) {
	case sched.RefusedBusy, sched.RefusedBusyOther, sched.RefusedFull:
		return refusedBusy
	case sched.RefusedEpoch:
		return refusedEpoch
	case sched.RefusedChanged, sched.RefusedWorkerChanged, sched.RefusedUnasked, sched.RefusedLate, sched.RefusedAgain:
		return refusedOutdated
	case sched.RefusedReserved:
		return refusedReserved
	default:
		return refusedByNode
	}
}
