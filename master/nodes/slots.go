package nodes

import (
	"fmt"
	"slices"

	"github.com/pigeon-sched/pigeon/internal/addrmap"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// slot is a worker of a node.
type slot struct {
	worker sched.Addr
	serves []string  // while the node can be reached
	busy   int       // attempts there, as the node reported last
	owners []string  // of these attempts
	inside []attempt // these attempts, the running ones first
	kept   keptResults
}

// attempt is one at a slot, as its node reported it.
type attempt struct {
	class sched.Class
	owner string // "" for none in particular
	job   sched.JobID
}

// addSlots registers the slots of a hello that are not registered yet.
func (t *Nodes) addSlots(n *node, h *wire.Hello, numbers []int32) {
	before := len(n.slots)
	for i := range h.Slots {
		number := int32(0)
		if numbers != nil {
			number = numbers[i]
		}
		if before > 0 && n.slots[h.Slots[i].Slot] != nil {
			continue
		}
		t.addSlot(n, &h.Slots[i], h.Serves, number)
	}
}

// addSlot registers one slot with the core. number is that of its worker plus one,
// under policies that number workers; without one the slot waits for the node's next hello.
func (t *Nodes) addSlot(n *node, s *wire.Slot, nodeServes []string, number int32) {
	if _, twice := n.slots[s.Slot]; twice {
		t.cfg.Log.Error("a node names a slot twice; the first counts", "node", n.ref.Name, "slot", s.Slot)
		return
	}
	w := t.address(n, s.Slot, number)
	if w == (sched.Addr{}) {
		t.cfg.Log.Error("a slot was not registered: every number is that of a slot or rests after one has left; it is tried again with the node's next snapshot", "node", n.ref.Name, "slot", s.Slot, "numbers", addrmap.Limit)
		return
	}
	n.slots[s.Slot] = &slot{worker: w, serves: serves(s, nodeServes), busy: busy(s), owners: owners(nil, s), inside: inside(nil, s)}
	t.byWorker[w.ID] = n
	t.slotsChanged()
	up := sched.Message{
		Kind: sched.WorkerUp, Peer: w, Node: n.ref.Name, Seq: s.Seq, Reserved: s.Reserved, Fixed: s.Fixed, Kept: s.Kept,
		Serves: n.servesNow(s.Slot),
	}
	if n.draining && !t.cfg.Policy.Sequenced { // such cores know a worker before they know that it drains
		up.Serves = n.slots[s.Slot].serves
	}
	bare := up
	if s.Running.Attempt > 0 {
		t.adopt(s.Running.Job, s.JobName, s.FrontendAddress)
		up.Job, up.First, up.Attempt = s.Running.Job, s.Running.Task, s.Running.Attempt
		up.Class, up.App, up.Owner, up.Distributor, up.Estimate = s.Class, s.App, s.Owner, t.cfg.Addrs.Addr(s.Frontend), s.Estimate
		if s.Ran > 0 {
			up.More = &sched.More{Slots: []sched.Attained{{ID: s.Running, Service: s.Ran, Running: true}}}
		}
	}
	t.cfg.Core.StepShell(&up)
	bare.Kept = nil
	for i := range s.Held {
		t.announceHeld(bare, &s.Held[i])
	}
	if n.draining {
		t.stepServes(n, s.Slot)
	}
}

// announceHeld steps the WorkerUp message once more, for an attempt that the worker holds
// besides the one that runs.
func (t *Nodes) announceHeld(up sched.Message, h *wire.Held) {
	t.adopt(h.ID.Job, h.JobName, h.FrontendAddress)
	up.Job, up.First, up.Attempt = h.ID.Job, h.ID.Task, h.ID.Attempt
	up.Class, up.App, up.Owner, up.Distributor, up.Estimate = h.Class, h.App, h.Owner, t.cfg.Addrs.Addr(h.Frontend), h.Estimate
	t.cfg.Core.StepShell(&up)
}

// adopt keeps the name of a job with a task at a node, until the core forgets the job. No
// one else does, so nothing is kept under a policy whose master has no core.
func (t *Nodes) adopt(job sched.JobID, name, frontendAddress string) {
	if t.cfg.Policy.NewMaster != nil {
		t.cfg.Jobs.Adopt(job, name, frontendAddress)
	}
}

// withdrawn is why a slot leaves that its node gave back in order.
const withdrawn = "the slot was withdrawn"

// removeSlot removes a slot and takes its number back. ended means that nothing can come of
// the slot any more.
func (t *Nodes) removeSlot(n *node, slot int32, ended bool, reason string) {
	w := n.slots[slot].worker
	delete(n.slots, slot)
	t.slotsChanged()
	lost := sched.Message{Kind: sched.WorkerLost, Peer: w, Reason: fmt.Sprintf("node %s: %s", n.ref.Name, reason)}
	if reason == withdrawn {
		lost.Outcome = sched.Yielded
	}
	n.successor.spare(&lost, slot)
	t.cfg.Core.StepShell(&lost)
	delete(t.byWorker, w.ID)
	t.cfg.Addrs.Drop(wire.Ref{Role: sched.Worker, Name: n.ref.Name, Slot: slot})
	t.numbers.Release(w.ID, ended, t.cfg.Now())
}

// slotsChanged is called when the slots of a node have changed: the membership lists their
// numbers, under policies that number workers.
func (t *Nodes) slotsChanged() {
	if t.cfg.Policy.SingleMaster() {
		t.cfg.Changed()
	}
}

// busy counts the attempts at a slot.
func busy(s *wire.Slot) int {
	n := len(s.Held)
	if s.Running.Attempt > 0 {
		n++
	}
	return n
}

// owners appends the owners of the attempts at a slot to a list; attempts without an owner
// add nothing.
func owners(list []string, s *wire.Slot) []string {
	if s.Running.Attempt > 0 && s.Owner != "" {
		list = append(list, s.Owner)
	}
	for i := range s.Held {
		if owner := s.Held[i].Owner; owner != "" {
			list = append(list, owner)
		}
	}
	return list
}

// inside appends the attempts at a slot to a list.
func inside(list []attempt, s *wire.Slot) []attempt {
	if s.Running.Attempt > 0 {
		list = append(list, attempt{s.Class, s.Owner, s.Running.Job})
	}
	for i := range s.Held {
		list = append(list, attempt{s.Held[i].Class, s.Held[i].Owner, s.Held[i].ID.Job})
	}
	return list
}

// servesNow returns the applications that a slot can serve: none while its node cannot be
// reached or drains.
func (n *node) servesNow(slot int32) []string {
	if !n.up || n.draining {
		return []string{}
	}
	return n.slots[slot].serves
}

func serves(s *wire.Slot, nodeServes []string) []string {
	list := slices.Clone(s.Serves)
	if list == nil {
		list = slices.Clone(nodeServes)
	}
	slices.Sort(list)
	return slices.Compact(list)
}
