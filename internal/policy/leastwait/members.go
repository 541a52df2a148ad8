package leastwait

import (
	"slices"

	"github.com/pigeon-sched/pigeon/internal/policy/probing"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// workerUp takes a slot in. As in the papers, every worker serves every
// application that one of them serves.
func (s *Master) workerUp(m *sched.Message, out *sched.Actions) {
	id := m.Peer.ID
	if m.Peer.Role != sched.Worker || (int(id) < len(s.workers) && s.workers[id] != nil) {
		return // came twice
	}
	if grow := int(id) + 1 - len(s.workers); grow > 0 {
		s.workers = append(s.workers, make([]*worker, grow)...)
	}
	s.workers[id] = &worker{addr: m.Peer}
	s.alive++
	s.divided = false
	if s.serves == nil && s.alive > s.reserved() {
		s.announce(slices.Clone(m.Serves), out)
	}
}

// workerLost takes a slot out: what ran there is lost, and perhaps the reports of
// what ended there last; what did not start is placed again.
func (s *Master) workerLost(now sched.Time, m *sched.Message, out *sched.Actions) {
	if m.Peer.Role != sched.Worker || int(m.Peer.ID) >= len(s.workers) || s.workers[m.Peer.ID] == nil {
		return
	}
	w := s.workers[m.Peer.ID]
	if w.in != nil {
		w.in.remove(w)
	}
	s.workers[m.Peer.ID] = nil
	s.alive--
	s.divided = false
	if s.alive == s.reserved() {
		s.announce(nil, out)
	}
	for i := range w.ended {
		if e := &w.ended[(w.next+i)%keepEnded]; e.Attempt > 0 {
			tellLost(e, m.Reason, out)
		}
	}
	if t := w.running; t != nil {
		s.lost++
		tellLost(&t.msg, m.Reason, out)
		s.forget(t, out)
	}
	assigned := w.assigned
	w.running, w.assigned = nil, nil
	s.mark(w)
	more := s.snapshot(now)
	for _, t := range assigned {
		s.place(now, t, more, out)
	}
}

func tellLost(t *sched.Message, reason string, out *sched.Actions) {
	l := out.Send(t.Owner, sched.AttemptLost)
	l.Job, l.First, l.Attempt, l.Reason = t.Job, t.First, t.Attempt, reason
}

func (s *Master) announce(serves []string, out *sched.Actions) {
	s.serves = serves
	out.Send(sched.Addr{Role: sched.Distributor, ID: sched.Everyone}, sched.Serves).Serves = serves
}

// reserved is how many of the workers alive, the first of them, serve short tasks
// only.
func (s *Master) reserved() int { return probing.Reserved(s.cfg.Params.Reserved, s.alive) }

// divide says of each worker in which partition it is, when that has changed.
// Long work that was assigned to one that is reserved now stays there.
func (s *Master) divide(now sched.Time) {
	if s.divided {
		return
	}
	s.divided = true
	reserved, seen := s.reserved(), 0
	for _, w := range s.workers {
		if w == nil {
			continue
		}
		w.general = seen >= reserved
		seen++
		s.rank(now, w)
	}
}

// mark notes in the view whether the worker has long work.
func (s *Master) mark(w *worker) {
	if !s.share {
		return
	}
	word, bit := int(w.addr.ID)/64, uint64(1)<<(w.addr.ID%64)
	if grow := word + 1 - len(s.view); grow > 0 {
		s.view = append(s.view, make([]uint64, grow)...)
	}
	if w.running != nil || len(w.assigned) > 0 {
		s.view[word] |= bit
	} else {
		s.view[word] &^= bit
	}
}

// snapshot gives the view as it is handed out, nil when it is not.
func (s *Master) snapshot(now sched.Time) *sched.More {
	if !s.share {
		return nil
	}
	return &sched.More{Bits: slices.Clone(s.view), Stamp: now}
}
