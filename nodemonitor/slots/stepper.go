package slots

import (
	"time"

	"github.com/pigeon-sched/pigeon/internal/runloop"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend"
	"github.com/pigeon-sched/pigeon/thrift/wire"
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

	now step // the one whose actions are carried out
}

// step is a step of a worker's core: what its actions need in addition to its message.
type step struct {
	worker  *worker
	launch  *wire.Item      // the launch; nil for another message
	at      time.Time       // when that arrived
	denial  string          // the shell's reason to deny it
	refused bool            // the core has refused it
	ended   *backend.Result // the end; nil for another message
}

// step lets a worker's core process a message, and carries out its actions.
func (s *stepper) step(w *worker, from sched.Addr, m *sched.Message) {
	s.carryOut(step{worker: w}, from, m)
}

// carryOut is step for a launch or an end.
func (s *stepper) carryOut(now step, from sched.Addr, m *sched.Message) {
	w := now.worker
	s.now = now
	s.steps.Step(w.core, w.self, s.cfg.Clock.Now(), from, m)
	s.cfg.Metrics.recount(w)
}

// act carries out one action of the core that is being stepped.
func (s *stepper) act(self sched.Addr, act *sched.Action) {
	w := s.now.worker
	switch act.Kind {
	case sched.Send:
		s.send(act.To, &act.Msg)
	case sched.Timer:
		s.timers.Set(self, act.At, act.Token)
	case sched.Start:
		s.run.start(&s.now, act.Msg.AttemptID())
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
func (s *stepper) send(to sched.Addr, m *sched.Message) {
	w := s.now.worker
	switch {
	case m.Kind == sched.Report:
		s.run.report(&s.now, to, m)
	case m.Kind == sched.Refused:
		s.refuse(to, m)
	case to.Role != sched.Master:
		if !s.admission.stopping && (m.Kind != sched.Steal || s.admission.draining == "") { // otherwise no answer would be of use
			s.requests.send(w, to, m)
		}
	case m.Kind == sched.Idle && s.cfg.Policy.Sequenced:
		s.sendIdle(m)
	default:
		s.out.toMaster(w, m)
	}
}

// sendIdle reports to the master that the slot is free: by a notice, or by Thrift
// behind the refusal to which it belongs. After a denied launch the slot is withheld,
// or the master would offer the same task again at once.
func (s *stepper) sendIdle(m *sched.Message) {
	w := s.now.worker
	switch {
	case s.admission.stopping:
	case s.now.denial != "":
		w.withheld = true
	case s.now.refused:
		s.out.toMaster(w, m)
	default:
		s.out.idle(w, m)
	}
}

// refuse returns a launch to its sender.
func (s *stepper) refuse(to sched.Addr, m *sched.Message) {
	s.cfg.Metrics.refusals[refusalLabel(m)].Inc()
	s.now.refused = true
	if to.Role == sched.Master {
		s.out.toMaster(s.now.worker, m)
		return
	}
	s.run.yield(&s.now, to, m)
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
