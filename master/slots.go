package master

import (
	"fmt"
	"slices"
	"time"

	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// slot is a worker of a node.
type slot struct {
	worker sched.Addr
	serves []string // while the node can be reached
	busy   int      // attempts there, as the node told last
}

// slotsUp registers the slots of a hello that are not registered yet.
func (o *owner) slotsUp(n *node, h *wire.Hello, given []int32) {
	before := len(n.slots)
	for i := range h.Slots {
		number := int32(0)
		if given != nil {
			number = given[i]
		}
		if before > 0 && n.slots[h.Slots[i].Slot] != nil {
			continue
		}
		o.slotUp(n, &h.Slots[i], h.Serves, number)
	}
}

// slotUp registers one slot with the core. number, plus one, is its worker's where
// workers have some; without one the slot waits for the node's next hello.
func (o *owner) slotUp(n *node, s *wire.Slot, nodeServes []string, number int32) {
	if _, twice := n.slots[s.Slot]; twice {
		o.log.Error("a node names a slot twice; the first counts", "node", n.id, "slot", s.Slot)
		return
	}
	w := o.worker(wire.Ref{Role: sched.Worker, Name: n.id, Slot: s.Slot}, number)
	if w == (sched.Addr{}) {
		o.log.Error("a slot was not registered: too many slots have come and gone; restart this master", "node", n.id, "slot", s.Slot)
		return
	}
	n.slots[s.Slot] = &slot{worker: w, serves: serves(s, nodeServes), busy: busy(s)}
	o.nodeOf[w.ID] = n
	o.rollChanged = o.rollChanged || o.rules.numbered
	up := sched.Message{
		Kind: sched.WorkerUp, Peer: w, Node: n.id, Seq: s.Seq, Reserved: s.Reserved, Fixed: s.Fixed, Kept: s.Kept,
		Serves: n.servesNow(s.Slot),
	}
	bare := up
	if s.Running.Attempt > 0 {
		o.cargo.adopt(s.Running.Job, s.JobName, s.OwnerAddress)
		up.Job, up.First, up.Attempt = s.Running.Job, s.Running.Task, s.Running.Attempt
		up.Class, up.App, up.Owner, up.Estimate = s.Class, s.App, o.addrs.Addr(s.Owner), s.Estimate
		if s.Ran > 0 {
			up.More = &sched.More{Slots: []sched.Attained{{ID: s.Running, Service: s.Ran, Running: true}}}
		}
	}
	o.stepShell(&up)
	bare.Kept = nil
	for i := range s.Held {
		o.holds(bare, &s.Held[i])
	}
}

// holds announces the worker of the message once more, for what it holds beside the
// attempt that runs.
func (o *owner) holds(up sched.Message, h *wire.Held) {
	o.cargo.adopt(h.ID.Job, h.JobName, h.OwnerAddress)
	up.Job, up.First, up.Attempt = h.ID.Job, h.ID.Task, h.ID.Attempt
	up.Class, up.App, up.Owner, up.Estimate = h.Class, h.App, o.addrs.Addr(h.Owner), h.Estimate
	o.stepShell(&up)
}

// worker returns a slot that comes up its worker's number.
func (o *owner) worker(ref wire.Ref, number int32) sched.Addr {
	switch {
	case !o.rules.numbered:
		return o.addrs.Renew(ref)
	case number > 0 && o.addrs.Set(ref, number-1):
		return sched.Addr{Role: sched.Worker, ID: number - 1}
	default:
		return sched.Addr{}
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

// servesNow returns what a slot can be given: nothing while its node cannot be
// reached.
func (n *node) servesNow(slot int32) []string {
	if !n.up {
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

func (o *owner) slotLost(n *node, slot int32, reason string) {
	w := n.slots[slot].worker
	delete(n.slots, slot)
	o.rollChanged = o.rollChanged || o.rules.numbered
	o.stepShell(&sched.Message{Kind: sched.WorkerLost, Peer: w, Reason: fmt.Sprintf("node %s: %s", n.id, reason)})
	delete(o.nodeOf, w.ID)
}

func sortedSlots(slots map[int32]*slot) []int32 {
	list := make([]int32, 0, len(slots))
	for s := range slots {
		list = append(list, s)
	}
	slices.Sort(list)
	return list
}

// snapshot heals what notices lost: idle slots, slots that came or went, and
// what they serve.
func (o *owner) snapshot(s *wire.Snapshot) wire.SnapshotReply {
	n := o.nodes[s.Sender.Name]
	if n == nil || n.incarnation != s.Incarnation {
		return wire.SnapshotReply{Incarnation: o.incarnation, Epoch: o.epoch, Problem: fmt.Sprintf("group %d has no registration of node %q", o.cfg.Group, s.Sender.Name)}
	}
	n.heard = time.Now()
	seen := make(map[int32]bool, len(s.Slots))
	strange := false
	for i := range s.Slots {
		seen[s.Slots[i].Slot] = true
		strange = !o.slotTold(n, &s.Slots[i]) || strange
	}
	for _, slot := range sortedSlots(n.slots) {
		if !seen[slot] {
			o.slotLost(n, slot, "the slot was withdrawn")
		}
	}
	if strange {
		return wire.SnapshotReply{Incarnation: o.incarnation, Epoch: o.epoch, Problem: fmt.Sprintf("node %q has slots without a number", n.id)}
	}
	return wire.SnapshotReply{Incarnation: o.incarnation, Epoch: o.epoch, Known: true}
}

// slotTold takes what a snapshot tells of one slot; false when the node must say
// hello for it first.
func (o *owner) slotTold(n *node, s *wire.Slot) bool {
	known := n.slots[s.Slot]
	switch {
	case known != nil:
	case o.rules.numbered:
		return false
	default:
		o.slotUp(n, s, nil, 0)
		return true
	}
	known.busy = busy(s)
	if s.Serves != nil {
		known.serves = serves(s, nil)
		o.stepShell(&sched.Message{Kind: sched.WorkerServes, Peer: known.worker, Serves: n.servesNow(s.Slot)})
	}
	if s.Running.Attempt == 0 {
		o.step(known.worker, &sched.Message{Kind: sched.Idle, Seq: s.Seq, Kept: suspended(s)})
	}
	return true
}

// suspended lists what a slot has suspended.
func suspended(s *wire.Slot) (ids []sched.AttemptID) {
	for i := range s.Held {
		if s.Held[i].Suspended {
			ids = append(ids, s.Held[i].ID)
		}
	}
	return ids
}
