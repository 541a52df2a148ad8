package slots

import (
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// step has a worker's core process a message, and carries out its actions.
func (s *Workers) step(w *worker, from sched.Addr, m *sched.Message) {
	s.stepping = w
	s.steps.Step(w.core, w.self, s.cfg.Clock.Now(), from, m)
	s.cfg.Metrics.recount(w)
}

// act carries out one action of the core that is being stepped.
func (s *Workers) act(self sched.Addr, act *sched.Action) {
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

// send sends a core's message, after the batch.
func (s *Workers) send(w *worker, to sched.Addr, m *sched.Message) {
	switch {
	case m.Kind == sched.Report:
		s.run.report(w, to, m)
	case m.Kind == sched.Refused:
		s.refuse(w, to, m)
	case to.Role != sched.Master:
		if !s.admission.stopping { // else no answer would be of use any more
			s.requests.send(w, to, m, s.now)
		}
	case m.Kind == sched.Idle && s.cfg.Policy.Sequenced:
		s.sendIdle(w, m)
	default:
		s.out.toMaster(w, m)
	}
}

// sendIdle reports to the master that the slot is free: by a notice, or by Thrift
// behind the refusal that it belongs to. After a denied launch the slot is withheld, or
// the master would offer the same task again at once.
func (s *Workers) sendIdle(w *worker, m *sched.Message) {
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

// Timeout steps a core's timer that expired.
func (s *Workers) Timeout(self sched.Addr, token uint64) {
	if w := s.workers.bySelf[self]; w != nil {
		s.step(w, sched.Addr{}, &sched.Message{Kind: sched.Timeout, Token: token})
	}
}

// SetMembers has every core learn which workers the cluster has.
func (s *Workers) SetMembers(members []sched.Member) {
	m := sched.Message{Kind: sched.Members, More: &sched.More{Members: members}}
	for _, w := range s.workers.live() {
		if w.core != nil {
			s.step(w, sched.Addr{}, &m)
		}
	}
}

// Repeat sends again, every heartbeat, the requests that were not answered in time, and
// reports withheld slots when there is room.
func (s *Workers) Repeat() {
	s.release()
	if !s.admission.stopping {
		s.requests.repeat(s.now)
	}
}

// FrontendGone is called when a frontend is no member any more, is another process by
// now, or refuses messages: it will not answer requests.
func (s *Workers) FrontendGone(frontend sched.Addr) { s.requests.frontendGone(frontend) }

// Flush sends what the batch decided; flushResults is called where reports belong in
// it: before idle notices, so that a node that dies in between has reported a result
// rather than asked for work.
func (s *Workers) Flush(flushResults func()) {
	s.deliverLocal()
	if s.admission.full {
		s.release()
	}
	flushResults()
	s.out.flush()
	s.cfg.Metrics.publish()
}

// deliverLocal steps what the workers of this node have sent to each other, until no
// message is left.
func (s *Workers) deliverLocal() {
	for len(s.out.local) > 0 {
		list := s.out.local
		s.out.local = nil
		for i := range list {
			if l := &list[i]; l.to.core != nil {
				s.step(l.to, l.from, &l.msg)
			}
		}
	}
}
