package slots

import "github.com/pigeon-sched/pigeon/internal/sched"

// timer is called by any goroutine when a timer that a core has set expires.
func (s *Workers) timer(self sched.Addr, token uint64) {
	s.cfg.Post(func() { s.timeout(self, token) })
}

// timeout steps a core's timer that expired.
func (s *Workers) timeout(self sched.Addr, token uint64) {
	if w := s.workers.bySelf[self]; w != nil {
		s.cores.step(w, sched.Addr{}, &sched.Message{Kind: sched.Timeout, Token: token})
	}
}

// SetMembers steps the list of the cluster's workers into every core.
func (s *Workers) SetMembers(members []sched.Member) {
	m := sched.Message{Kind: sched.Members, More: &sched.More{Members: members}}
	for _, w := range s.workers.live() {
		if w.core != nil {
			s.cores.step(w, sched.Addr{}, &m)
		}
	}
}

// Repeat is called every heartbeat. It sends again the requests that were not answered in
// time, and reports withheld slots when there is room.
func (s *Workers) Repeat() {
	s.admission.release(true)
	if !s.admission.stopping {
		s.requests.repeat()
	}
}

// FrontendGone is called when a frontend has left the membership, has been restarted, or
// refuses messages: it will not answer requests.
func (s *Workers) FrontendGone(frontend sched.Addr) { s.requests.frontendGone(frontend) }

// Flush sends the messages that the batch caused. It calls flushResults before it sends
// idle notices, so that a node that dies in between has reported a result rather than
// requested work.
func (s *Workers) Flush(flushResults func()) {
	s.deliverLocal()
	s.withdrawEmpty()
	s.admission.release(false)
	flushResults()
	s.out.flush()
	s.cfg.Metrics.publish()
}

// deliverLocal steps the messages that workers of this node have sent to each other, until
// none is left.
func (s *Workers) deliverLocal() {
	for len(s.out.local) > 0 {
		list := s.out.local
		s.out.local = nil
		for i := range list {
			if l := &list[i]; l.to.core != nil {
				s.cores.step(l.to, l.from, &l.msg)
			}
		}
	}
}
