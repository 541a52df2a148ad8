package leastwait

import (
	"slices"

	"github.com/pigeon-sched/pigeon/internal/policy/ended"
	"github.com/pigeon-sched/pigeon/internal/policy/probing"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// workerUp adds a slot. As in the papers, every worker serves every
// application that one of them serves. A slot that holds several long tasks is
// announced once for each, first with the one that runs.
func (s *Master) workerUp(now sched.Time, m *sched.Message, out *sched.Actions) {
	if m.Peer.Role != sched.Worker {
		return
	}
	w := s.worker(m.Peer.ID)
	fresh := w == nil
	if fresh {
		w = s.join(m, out)
	}
	for _, id := range m.Kept {
		w.ended.Add(now, id, sched.Addr{Role: sched.Distributor, ID: sched.Everyone}, 0)
	}
	switch {
	case m.Attempt > 0 && m.Class == sched.Long:
		s.adopt(now, w, m, fresh, out)
	case m.Attempt > 0: // short ones are their distributors'
		s.forgetJob(m.Job, out)
	}
}

func (s *Master) worker(id int32) *worker {
	if id < 0 || int(id) >= len(s.workers) {
		return nil
	}
	return s.workers[id]
}

func (s *Master) join(m *sched.Message, out *sched.Actions) *worker {
	id := m.Peer.ID
	if grow := int(id) + 1 - len(s.workers); grow > 0 {
		s.workers = append(s.workers, make([]*worker, grow)...)
	}
	w := &worker{addr: m.Peer, node: m.Node}
	s.workers[id] = w
	s.alive++
	s.divided = false
	if s.serves == nil && s.alive > s.reserved() {
		s.announce(slices.Clone(m.Serves), out)
	}
	return w
}

// adopt records a task that a registering slot holds, and asks its distributor whether it is
// still wanted. A running task counts with the rest of its estimate.
func (s *Master) adopt(now sched.Time, w *worker, m *sched.Message, runs bool, out *sched.Actions) {
	if s.tasks[m.AttemptID()] != nil {
		return // a repetition, or placed elsewhere meanwhile: one result counts
	}
	t := &task{msg: *m, left: 1, at: w}
	t.msg.Count, t.msg.Kept, t.msg.Serves, t.msg.More = 1, nil, nil, nil
	t.msg.Estimate = s.cfg.Params.EstimateOf(m.Estimate)
	s.tasks[m.AttemptID()] = t
	s.jobs[m.Job]++
	if runs {
		w.running, w.done = t, now+t.msg.Estimate-attained(m)
	} else {
		w.assigned = append(w.assigned, t)
		w.waiting += t.msg.Estimate
	}
	s.ranking.update(now, w)
	s.mark(w)
	out.SendHolding(m.Distributor, m.AttemptID())
}

// attained returns how long the task of a registering slot has run, 0 if that is not
// known.
func attained(m *sched.Message) sched.Time {
	if m.More == nil || len(m.More.Slots) != 1 || m.More.Slots[0].ID != m.AttemptID() {
		return 0
	}
	return m.More.Slots[0].Service
}

// workerLost removes a slot: its running task is lost, and perhaps the reports of the
// tasks that ended there last. Tasks not known to have started are
// returned for new attempts, because they may have.
func (s *Master) workerLost(m *sched.Message, out *sched.Actions) {
	w := s.worker(m.Peer.ID)
	if m.Peer.Role != sched.Worker || w == nil {
		return
	}
	s.ranking.remove(w)
	s.lately = ended.Index{}
	s.workers[m.Peer.ID] = nil
	if !w.leaving {
		s.left(out)
	}
	w.ended.Each(func(id sched.AttemptID, distributor sched.Addr) { out.SendLost(distributor, id, w.node, m) })
	if t := w.running; t != nil {
		if out.SendLost(t.msg.Distributor, t.msg.AttemptID(), w.node, m) {
			s.lost++
		}
		s.forget(t, out)
	}
	assigned := w.assigned
	w.running, w.assigned = nil, nil
	s.mark(w)
	for _, t := range assigned {
		out.SendReturned(t.msg.Distributor, t.msg.Job, t.msg.First, 1, t.msg.Attempt, false).Resent = true
		s.forget(t, out)
	}
}

// left no longer counts a worker.
func (s *Master) left(out *sched.Actions) {
	s.alive--
	s.divided = false
	if s.alive == s.reserved() {
		s.announce(nil, out)
	}
}

// workerDrains records that a slot takes nothing new, or takes tasks again. Its node
// returns the tasks that wait there; running ones continue.
func (s *Master) workerDrains(now sched.Time, m *sched.Message, out *sched.Actions) {
	w := s.worker(m.Peer.ID)
	if m.Peer.Role != sched.Worker || w == nil || w.leaving == m.Full {
		return
	}
	w.leaving = m.Full
	if m.Full {
		w.general = false
		s.ranking.update(now, w)
		s.left(out)
		return
	}
	s.alive++
	s.divided = false
	if s.serves == nil && s.alive > s.reserved() {
		s.announce(slices.Clone(m.Serves), out)
	}
}

func (s *Master) announce(serves []string, out *sched.Actions) {
	s.serves = serves
	out.Send(sched.Addr{Role: sched.Distributor, ID: sched.Everyone}, sched.Serves).Serves = serves
}

// reserved returns how many of the live workers, the first in order, serve short tasks
// only.
func (s *Master) reserved() int { return probing.Reserved(s.cfg.Params.Reserved, s.alive) }

// sendPartitions sends each worker its partition when that has changed.
// Long work that was assigned to one that is reserved now stays there.
func (s *Master) sendPartitions(now sched.Time) {
	if s.divided {
		return
	}
	s.divided = true
	reserved, seen := s.reserved(), 0
	for _, w := range s.workers {
		if w == nil || w.leaving {
			continue
		}
		w.general = seen >= reserved
		seen++
		s.ranking.update(now, w)
	}
}

// mark records in the view whether the worker has long work.
func (s *Master) mark(w *worker) {
	if s.share {
		s.view.set(w.addr.ID, w.running != nil || len(w.assigned) > 0)
	}
}

// snapshot returns a copy of the view for a message, nil unless views are shared.
func (s *Master) snapshot(now sched.Time) *sched.More {
	if !s.share {
		return nil
	}
	return &sched.More{Bits: slices.Clone(s.view), Stamp: now}
}
