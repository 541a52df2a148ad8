package coretest

import (
	"slices"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// node is a machine with its node monitor.
type node struct {
	place
	group       int
	is          Node
	alive       bool
	incarnation int
	slots       []*slot
}

type slot struct {
	core      *recorded
	worker    sched.WorkerCore
	running   *sched.Message // as started; nil when the backend runs nothing
	suspended *sched.Message // as started
	accepted  map[sched.AttemptID]sched.Message
	kept      []sched.Message
}

// slotState is what a node tells its master about a slot.
type slotState struct {
	seq      uint64
	running  *sched.Message // its Launch
	held     *sched.Message // that of what is suspended
	reserved bool
	kept     []sched.AttemptID
}

func (n *node) acknowledge(id sched.AttemptID) {
	for _, s := range n.slots {
		s.kept = slices.DeleteFunc(s.kept, func(m sched.Message) bool { return m.AttemptID() == id })
	}
}

// state is the node's account of its slots.
func (n *node) state() []slotState {
	states := make([]slotState, len(n.slots))
	for i, s := range n.slots {
		at := s.worker.Slot()
		states[i] = slotState{seq: at.Seq, reserved: at.Reserved}
		if id := at.Running; id.Attempt > 0 {
			launch := s.accepted[id]
			states[i].running = &launch
		}
		if s.suspended != nil {
			launch := s.accepted[s.suspended.AttemptID()]
			states[i].held = &launch
		}
		for _, m := range s.kept {
			states[i].kept = append(states[i].kept, m.AttemptID())
		}
	}
	return states
}

// StartNode starts a node monitor, whose former attempts are void.
func (c *Cluster) StartNode(i int) {
	n := c.nodes[i]
	n.incarnation++
	n.alive = true
	n.slots = nil
	for k := range n.is.Slots {
		cfg := sched.WorkerConfig{
			Self: sched.Addr{Role: sched.Worker, ID: int32(i*100 + k)}, Seed: c.cfg.Seed, Params: c.cfg.Params,
			Master: sched.Addr{Role: sched.Master, ID: int32(n.group)}, Reserved: n.is.Fixed && n.is.Reserved,
		}
		w := c.cfg.Policy.NewWorker(cfg)
		r := c.record(w, func() sched.Core { return c.cfg.Policy.NewWorker(cfg) })
		n.slots = append(n.slots, &slot{core: r, worker: w, accepted: map[sched.AttemptID]sched.Message{}})
	}
	c.hello(n)
}

// KillNode ends a node monitor with what it runs and the results it keeps; the
// first messages of each of its links may still arrive.
func (c *Cluster) KillNode(i, keep int) {
	n := c.nodes[i]
	n.alive = false
	for _, s := range n.slots {
		s.running, s.suspended, s.kept = nil, nil, nil
	}
	c.cut(n.place, keep)
}

// hello introduces a node to the master of its group.
func (c *Cluster) hello(n *node) {
	e := c.enclose(n.place, place{sched.Master, n.group}, nil)
	e.slots = n.state()
	c.post(e)
}

// Snapshot makes a node tell its master about its slots, and repeat the reports
// that were not acknowledged.
func (c *Cluster) Snapshot(i int) {
	n := c.nodes[i]
	if !n.alive {
		return
	}
	e := c.enclose(n.place, place{sched.Master, n.group}, nil)
	e.slots = n.state()
	c.notices = append(c.notices, e)
	for k, s := range n.slots {
		for j := range s.kept {
			e := c.enclose(n.place, place{sched.Distributor, int(s.kept[j].Owner.ID)}, &s.kept[j])
			e.fromSlot = k
			c.post(e)
		}
	}
}

// account takes a node's account of its slots at its master.
func (c *Cluster) account(m *daemon, e envelope) {
	inc, known := m.registered[e.from.id]
	switch {
	case !known:
		c.register(m, e)
	case inc == e.fromInc:
		for k, s := range e.slots {
			if w, ok := m.worker(e.from.id, e.fromInc, k); ok && s.running == nil {
				free := sched.Message{Kind: sched.Idle, Seq: s.seq}
				if s.held != nil {
					free.Kept = []sched.AttemptID{s.held.AttemptID()}
				}
				c.step(m, w, &free)
			}
		}
	case inc < e.fromInc:
		c.LoseNode(e.from.id)
		c.register(m, e)
	}
}

// register takes a node's slots in, each as a new worker.
func (c *Cluster) register(m *daemon, e envelope) {
	n := c.nodes[e.from.id]
	m.registered[e.from.id] = e.fromInc
	for k, s := range e.slots {
		id := int32(len(m.members))
		m.members = append(m.members, member{node: e.from.id, slot: k, incarnation: e.fromInc, reserved: n.is.Fixed && n.is.Reserved})
		up := sched.Message{
			Kind: sched.WorkerUp, Peer: sched.Addr{Role: sched.Worker, ID: id}, Node: n.String(), Serves: n.is.Serves, Seq: s.seq,
			Reserved: s.reserved, Fixed: n.is.Fixed, Kept: s.kept,
		}
		if s.running != nil {
			m.has(&up, s.running)
		}
		c.step(m, sched.Addr{}, &up)
		if s.held != nil {
			again := sched.Message{Kind: sched.WorkerUp, Peer: up.Peer, Node: up.Node, Serves: up.Serves, Seq: s.seq}
			m.has(&again, s.held)
			c.step(m, sched.Addr{}, &again)
		}
	}
}

// has says that a registering slot has the attempt of a launch.
func (m *daemon) has(up, launch *sched.Message) {
	up.Job, up.First, up.Attempt = launch.Job, launch.First, launch.Attempt
	up.Owner, up.Class, up.App, up.Estimate = launch.Owner, launch.Class, launch.App, launch.Estimate
	m.cargo[launch.Job] = true
}

// LoseNode makes the master of a node give it up, dead or alive.
func (c *Cluster) LoseNode(i int) {
	m := c.masters[c.nodes[i].group]
	if _, known := m.registered[i]; !known || !m.alive {
		return
	}
	delete(m.registered, i)
	for id := range m.members {
		if w := &m.members[id]; w.node == i && !w.gone {
			w.gone = true
			c.step(m, sched.Addr{}, &sched.Message{Kind: sched.WorkerLost, Peer: sched.Addr{Role: sched.Worker, ID: int32(id)}, Reason: "its node was lost"})
		}
	}
}

// worker finds the worker that a slot of a node is to a master.
func (m *daemon) worker(node, incarnation, slot int) (sched.Addr, bool) {
	for id := range m.members {
		if w := &m.members[id]; !w.gone && w.node == node && w.incarnation == incarnation && w.slot == slot {
			return sched.Addr{Role: sched.Worker, ID: int32(id)}, true
		}
	}
	return sched.Addr{}, false
}

// End makes the backend of a slot finish what it runs; false when it runs
// nothing.
func (c *Cluster) End(i, k int, o sched.Outcome) bool {
	s := c.nodes[i].slots[k]
	if !c.nodes[i].alive || s.running == nil {
		return false
	}
	r := s.running
	s.running = nil
	m := sched.Message{Kind: sched.Ended, Job: r.Job, First: r.First, Attempt: r.Attempt, Outcome: o}
	if o == sched.Failed {
		m.Reason = "exit status 1"
	}
	if o == sched.Done {
		c.ran[r.AttemptID()] = true
	}
	c.stepSlot(c.nodes[i], k, sched.Addr{}, &m)
	return true
}
