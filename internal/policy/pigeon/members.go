package pigeon

import (
	"math"
	"slices"
	"strings"

	"github.com/pigeon-sched/pigeon/internal/queue"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// node is a machine of the group.
type node struct {
	id       string
	slots    []*worker // in order of registration
	reserved int       // of the slots whose kind the master chooses
}

// workerUp takes a slot in: free, or running something that an earlier master
// launched.
func (s *Master) workerUp(m *sched.Message, out *sched.Actions) {
	if s.worker(m.Peer.ID) != nil {
		return // came twice
	}
	for int(m.Peer.ID) >= len(s.workers) {
		s.workers = append(s.workers, nil)
	}
	w := &worker{addr: m.Peer, seq: m.Seq, reserved: m.Reserved && m.Fixed, fixed: m.Fixed, service: s.index.Service(m.Serves)}
	w.Owner = m.Peer.ID
	s.workers[m.Peer.ID] = w
	s.joinNode(w, m.Node)
	s.serve(w, +1, out)
	for _, kept := range m.Kept {
		s.notHere(kept, out)
	}
	if m.Attempt > 0 {
		s.adopt(w, m, out)
	}
	s.balanceReserved(out)
	if w.job == nil && !w.Listed() {
		s.feed(w, out)
	}
}

// adopt enters what a registering slot runs and asks its owner whether it is
// still wanted. Where the same task waits here, it does so no longer.
func (s *Master) adopt(w *worker, m *sched.Message, out *sched.Actions) {
	s.notHere(m.AttemptID(), out)
	j := s.jobs[m.Job]
	if j == nil {
		j = &queue.Job{ID: m.Job, Owner: m.Owner, App: s.index.App(m.App), Class: m.Class, Estimate: m.Estimate}
		s.jobs[m.Job] = j
	}
	s.occupy(w, j, m.First, m.Attempt)
	h := out.Send(m.Owner, sched.Holding)
	h.Job, h.First, h.Attempt = m.Job, m.First, m.Attempt
}

// notHere takes a task out of the queue that a node has run or runs.
func (s *Master) notHere(id sched.AttemptID, out *sched.Actions) {
	s.dropWaiting(&sched.Message{Job: id.Job, First: id.Task, Count: 1})
	if j := s.jobs[id.Job]; j != nil {
		s.index.Remove(j, id.Task, 1)
		s.forget(id.Job, out)
	}
}

// workerLost takes a slot out. What ran there is lost; when it was the last that
// served an application, what waits for it goes back to the distributors.
func (s *Master) workerLost(m *sched.Message, out *sched.Actions) {
	w := s.worker(m.Peer.ID)
	if w == nil {
		return
	}
	s.index.RemoveIdle(&w.Idler)
	if j := w.job; j != nil {
		s.counts.Lost++
		l := out.Send(j.Owner, sched.AttemptLost)
		l.Job, l.First, l.Attempt, l.Reason = j.ID, w.task, w.attempt, m.Reason
		s.vacate(w, out)
	}
	s.leaveNode(w)
	s.serve(w, -1, out)
	s.workers[m.Peer.ID] = nil
	s.balanceReserved(out)
}

// workerServes notes that a slot serves other applications than before.
func (s *Master) workerServes(m *sched.Message, out *sched.Actions) {
	w := s.worker(m.Peer.ID)
	if w == nil || slices.Equal(w.service.Names, m.Serves) {
		return
	}
	idle := w.Listed()
	s.index.RemoveIdle(&w.Idler)
	old := w.service
	w.service = s.index.Service(m.Serves)
	s.serve(w, +1, out)
	s.serve(&worker{service: old}, -1, out)
	if idle {
		s.feed(w, out)
	}
}

// serve counts a worker in (+1) or out (-1) for each application it serves and
// announces the first and the last.
func (s *Master) serve(w *worker, by int, out *sched.Actions) {
	changed := false
	for _, a := range w.service.Apps() {
		before := a.Workers
		a.Workers += by
		changed = changed || before == 0 || a.Workers == 0
	}
	if !changed {
		return
	}
	out.Send(sched.Addr{Role: sched.Distributor, ID: sched.Everyone}, sched.Serves).Serves = s.index.Served()
	for _, a := range w.service.Apps() {
		if a.Workers == 0 {
			s.index.TakeAll(a, func(r *queue.Run) {
				s.giveBack(r.Job.Owner, r.Job.ID, r.First, r.Count, r.Attempt, false, out)
				s.forget(r.Job.ID, out)
			})
		}
	}
}

func (s *Master) joinNode(w *worker, id string) {
	at, found := slices.BinarySearchFunc(s.nodes, id, func(n *node, id string) int { return strings.Compare(n.id, id) })
	if !found {
		s.nodes = slices.Insert(s.nodes, at, &node{id: id})
	}
	w.node = s.nodes[at]
	w.node.slots = append(w.node.slots, w)
	if !w.fixed {
		s.slots++
	}
}

func (s *Master) leaveNode(w *worker) {
	n := w.node
	n.slots = slices.DeleteFunc(n.slots, func(o *worker) bool { return o == w })
	if !w.fixed {
		s.slots--
		if w.reserved {
			n.reserved--
			s.reserved--
		}
	}
	if len(n.slots) == 0 {
		s.nodes = slices.DeleteFunc(s.nodes, func(o *node) bool { return o == n })
	}
}

// balanceReserved keeps round(share x slots) slots of the group reserved, each on
// the node with the fewest so far, then the lowest id (design.md, section 3).
// Slots whose owner chose their kind do not count.
func (s *Master) balanceReserved(out *sched.Actions) {
	want := int(math.Floor(float64(s.cfg.Params.Reserved*float64(s.slots)) + 0.5))
	for s.reserved < want {
		w := s.nextReserved(func(n *node, w *worker) (int, bool) { return n.reserved, !w.reserved })
		s.setReserved(w, true, out)
	}
	for s.reserved > want {
		w := s.nextReserved(func(n *node, w *worker) (int, bool) { return -n.reserved, w.reserved })
		s.setReserved(w, false, out)
	}
}

// nextReserved gives the first suitable slot of the node with the lowest rank.
func (s *Master) nextReserved(rank func(*node, *worker) (int, bool)) *worker {
	var best *worker
	lowest := math.MaxInt
	for _, n := range s.nodes {
		for _, w := range n.slots {
			if r, suits := rank(n, w); suits && !w.fixed && r < lowest {
				best, lowest = w, r
			}
		}
	}
	return best
}

// setReserved changes the kind of a slot and tells it. An idle one that becomes
// general may find a long task waiting.
func (s *Master) setReserved(w *worker, reserved bool, out *sched.Actions) {
	idle := w.Listed()
	s.index.RemoveIdle(&w.Idler)
	w.reserved = reserved
	by := -1
	if reserved {
		by = +1
	}
	w.node.reserved += by
	s.reserved += by
	m := out.Send(w.addr, sched.SetReserved)
	m.Reserved, m.Epoch = reserved, s.epoch
	if idle {
		s.feed(w, out)
	}
}

// dropWaiting forgets tasks among those that wait for the nodes to speak.
func (s *Master) dropWaiting(m *sched.Message) {
	if len(s.waiting) == 0 {
		return
	}
	var kept []sched.Message
	for _, t := range s.waiting {
		if t.Job != m.Job {
			kept = append(kept, t)
			continue
		}
		if m.Count == 0 {
			continue
		}
		start, end := t.First, t.First+t.Count
		for _, part := range [2][2]int32{{start, min(end, m.First)}, {max(start, m.First+m.Count), end}} {
			if part[0] < part[1] {
				t.First, t.Count = part[0], part[1]-part[0]
				kept = append(kept, t)
			}
		}
	}
	s.waiting = kept
}

// recovered ends the wait of a started master for its nodes.
func (s *Master) recovered(now sched.Time, out *sched.Actions) {
	if s.ready {
		return
	}
	s.ready = true
	waiting := s.waiting
	s.waiting = nil
	for i := range waiting {
		s.tasks(now, &waiting[i], out)
	}
}
