package pigeon

import (
	"slices"

	"github.com/pigeon-sched/pigeon/internal/policy/ended"
	"github.com/pigeon-sched/pigeon/internal/queue"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// workerUp records a slot: free, or running a task that an earlier master launched.
func (s *Master) workerUp(now sched.Time, m *sched.Message, out *sched.Actions) {
	if w := s.workers.get(m.Peer.ID); w != nil {
		s.adoptSuspended(w, m, out)
		return
	}
	w := &worker{addr: m.Peer, seq: m.Seq, reserved: m.Reserved && m.Fixed, fixed: m.Fixed}
	w.Worker = m.Peer.ID
	s.workers.add(w)
	s.live++
	s.index.Tree().SetWorkers(s.live)
	s.slots.add(w, m.Node)
	s.join(w, m.Serves, out)
	for _, kept := range m.Kept {
		w.ended.Add(now, kept, sched.Addr{Role: sched.Distributor, ID: sched.Everyone}, 0)
		s.removeQueued(kept, out)
	}
	switch {
	case m.Attempt > 0 && m.Companion:
		s.adoptCompanion(w, m, out)
	case m.Attempt > 0:
		s.adopt(w, m, out)
	}
	s.wide.changed()
	s.balanceReserved(out)
	if !w.fixed && !w.kindSent {
		s.sendReserved(w, out) // an earlier master may have set another kind
	}
	if w.job == nil && !w.isFree() && w.follows.Attempt == 0 {
		s.feed(w, out)
	}
}

// adopt records the running task of a registering slot, whose sequence number includes
// the launch already.
func (s *Master) adopt(w *worker, m *sched.Message, out *sched.Actions) {
	w.seq -= min(w.seq, 1)
	s.workers.occupy(w, s.workOf(m))
	s.charge(w)
	s.hooks.started(w, out)
	s.sendHolding(m, out)
}

// adoptSuspended records the suspended task of a slot that has registered before. The
// task is continued at once when the slot is idle.
func (s *Master) adoptSuspended(w *worker, m *sched.Message, out *sched.Actions) {
	if m.Attempt < 1 || !s.hooks.mayAdopt(w, m.AttemptID()) {
		return
	}
	s.hooks.adopt(w, s.workOf(m))
	s.sendHolding(m, out)
	if w.isFree() {
		s.index.RemoveIdle(&w.Idler)
		s.feed(w, out)
	}
}

// workOf returns the task that a registering slot has.
func (s *Master) workOf(m *sched.Message) work {
	j := s.jobs[m.Job]
	if j == nil {
		j = s.newJob(m)
	}
	return work{job: j, task: m.First, attempt: m.Attempt, class: m.Class}
}

// sendHolding asks the distributor of a slot's task whether it is still wanted, and removes the
// same attempt from the queue.
func (s *Master) sendHolding(m *sched.Message, out *sched.Actions) {
	s.removeQueued(m.AttemptID(), out)
	out.SendHolding(m.Distributor, m.AttemptID())
}

// removeQueued removes a task from the queue because a node runs, or has run, this
// attempt of it. A later attempt stays: it was created because this one was believed
// lost.
func (s *Master) removeQueued(id sched.AttemptID, out *sched.Actions) {
	j := s.jobs[id.Job]
	if j != nil {
		s.wide.putBack(j)
	}
	if j != nil && j.Waiting(id.Task) <= id.Attempt {
		s.index.Remove(j, id.Task, 1)
		s.forget(id.Job, out)
	}
}

// workerLost removes a slot. Its running task is lost, and so may be the reports of the
// tasks that ended there last: a node repeats a report until it is acknowledged, and the
// unacknowledged ones are lost with it.
func (s *Master) workerLost(m *sched.Message, out *sched.Actions) {
	w := s.workers.get(m.Peer.ID)
	if w == nil {
		return
	}
	s.lately = ended.Index{}
	s.index.RemoveIdle(&w.Idler)
	s.wide.unkeep(w)
	s.wide.unfollow(w, out)
	s.wide.changed()
	if j := w.job; j != nil {
		if out.SendLost(j.Distributor(), w.id(), w.node.id, m) {
			s.counts.Lost++
		}
		s.vacate(w, out)
	}
	s.hooks.lost(w, m, out)
	w.ended.Each(func(id sched.AttemptID, distributor sched.Addr) { out.SendLost(distributor, id, w.node.id, m) })
	s.slots.remove(w)
	s.leave(w.service, out)
	s.workers[m.Peer.ID] = nil
	s.live--
	s.index.Tree().SetWorkers(s.live)
	s.balanceReserved(out)
}

// workerServes records that a slot serves other applications than before.
func (s *Master) workerServes(m *sched.Message, out *sched.Actions) {
	w := s.workers.get(m.Peer.ID)
	if w == nil || slices.Equal(w.service.Names, m.Serves) {
		return
	}
	idle := w.Listed()
	s.index.RemoveIdle(&w.Idler)
	s.wide.changed()
	old := w.service
	s.join(w, m.Serves, out)
	s.leave(old, out)
	if idle {
		s.feed(w, out)
	}
}

// join counts a worker for each application it serves, and announces each application
// that is served for the first time.
func (s *Master) join(w *worker, names []string, out *sched.Actions) {
	service, fresh := s.index.Join(names)
	w.service = service
	if fresh {
		s.announce(out)
	}
}

// leave no longer counts a worker. When it was the last that served an application,
// that is announced, and the application's waiting tasks are returned to the
// distributors.
func (s *Master) leave(service *queue.Service, out *sched.Actions) {
	announced := false
	s.index.Leave(service, func(a *queue.App) {
		s.wide.putBackIf(func(c *claim) bool { return c.app() == a })
		if !announced {
			announced = true
			s.announce(out)
		}
		s.index.TakeAll(a, func(r *queue.Run) {
			out.SendReturned(r.Job.Distributor(), r.Job.ID, r.First, r.Count, r.Attempt, false)
			s.forget(r.Job.ID, out)
		})
	})
}

func (s *Master) announce(out *sched.Actions) {
	out.Send(sched.Addr{Role: sched.Distributor, ID: sched.Everyone}, sched.Serves).Serves = s.index.Served()
}

// balanceReserved changes the kinds of slots until as many are reserved as should be.
func (s *Master) balanceReserved(out *sched.Actions) {
	for w := s.slots.nextChange(); w != nil; w = s.slots.nextChange() {
		s.setReserved(w, !w.reserved, out)
	}
}

// setReserved changes the kind of a slot and sends it. An idle one that becomes
// general may find a long task waiting.
func (s *Master) setReserved(w *worker, reserved bool, out *sched.Actions) {
	idle := w.Listed()
	s.index.RemoveIdle(&w.Idler)
	s.wide.changed()
	s.slots.setReserved(w, reserved)
	s.sendReserved(w, out)
	if idle {
		s.feed(w, out)
	}
}

// sendReserved informs a slot of its kind.
func (s *Master) sendReserved(w *worker, out *sched.Actions) {
	w.kindSent = true
	s.kindsSent++
	m := out.Send(w.addr, sched.SetReserved)
	m.Reserved, m.Epoch, m.Seq = w.reserved, s.epoch, s.kindsSent
}
