package nodes

import (
	"fmt"

	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// Snapshot applies a node's heartbeat. It repairs the effects of lost notices: idle slots,
// slots that were added or withdrawn, and the applications they serve. It returns why the
// node has to register again, "" when it need not.
//
// Calls that their node gave up, because this master was busy or stopped, are read in any order
// later. A snapshot that comes after a later one of its node, or a later hello, therefore changes nothing.
func (t *Nodes) Snapshot(s *wire.Snapshot) (problem string) {
	if !t.registry.Heard(s.Sender.Name, s.Incarnation, t.cfg.Now()) {
		return fmt.Sprintf("group %d has no registration of node %q", t.cfg.Group, s.Sender.Name)
	}
	n := t.byName[s.Sender.Name]
	if !n.isNews(s.Sequence) {
		return ""
	}
	n.present = s.Present
	t.setDraining(n, s.Draining, s.StopsWhenEmpty, s.DiskFault)
	seen := make(map[int32]bool, len(s.Slots))
	for i := range s.Slots {
		seen[s.Slots[i].Slot] = true
		if !t.applySlot(n, &s.Slots[i]) {
			problem = fmt.Sprintf("node %q has slots without a number", n.ref.Name)
		} else if s.ListsKept && n.slots[s.Slots[i].Slot] != nil { // nil: there is no number for it yet
			t.applyKept(n, &s.Slots[i])
		}
	}
	for _, slot := range n.sorted() {
		if !seen[slot] {
			t.removeSlot(n, slot, true, withdrawn)
		}
	}
	if s.Stopping {
		t.stops(n)
	}
	t.leaves(n, sched.Time(s.Away))
	return problem
}

// isNews reports whether a hello or snapshot of that number comes after all that were applied, and
// records that it is applied. One without a number always does.
func (n *node) isNews(sequence uint64) bool {
	if sequence == 0 {
		return true
	}
	if sequence <= n.sequence {
		return false
	}
	n.sequence = sequence
	return true
}

// applySlot applies one slot of a snapshot; it returns false when the node must send a hello
// for it first.
func (t *Nodes) applySlot(n *node, s *wire.Slot) bool {
	known := n.slots[s.Slot]
	switch {
	case known != nil:
	case t.cfg.Policy.SingleMaster():
		return false
	default:
		t.addSlot(n, s, nil, 0)
		return true
	}
	known.busy, known.owners, known.inside = busy(s), owners(known.owners[:0], s), inside(known.inside[:0], s)
	if s.Serves != nil {
		known.serves = serves(s, nil)
		t.stepServes(n, s.Slot)
	}
	if s.Running.Attempt == 0 {
		t.cfg.Core.Step(known.worker, &sched.Message{Kind: sched.Idle, Seq: s.Seq, Kept: suspended(s)})
	}
	return true
}

// stepServes reports to the core what a slot serves now.
func (t *Nodes) stepServes(n *node, slot int32) {
	t.cfg.Core.StepShell(&sched.Message{Kind: sched.WorkerServes, Peer: n.slots[slot].worker, Serves: n.servesNow(slot), Full: n.draining})
}

// setDraining stops launches at a node that takes nothing new, or allows them again.
func (t *Nodes) setDraining(n *node, draining, stopsWhenEmpty bool, diskFault string) {
	n.stopsWhenEmpty = stopsWhenEmpty
	if n.draining == draining {
		if n.diskFault != diskFault {
			n.diskFault = diskFault
			t.cfg.Changed()
		}
		return
	}
	n.draining, n.diskFault, n.since = draining, diskFault, t.cfg.Now()
	if diskFault != "" {
		t.cfg.Log.Warn("a node has a fault; it takes nothing new until that is over", "node", n.ref.Name, "error", diskFault)
	} else {
		t.cfg.Log.Info("a node takes nothing new, or takes tasks again", "node", n.ref.Name, "draining", draining)
	}
	for _, slot := range n.sorted() {
		t.stepServes(n, slot)
	}
	t.cfg.Changed()
}

// suspended lists the attempts that a slot has suspended.
func suspended(s *wire.Slot) (ids []sched.AttemptID) {
	for i := range s.Held {
		if s.Held[i].Suspended {
			ids = append(ids, s.Held[i].ID)
		}
	}
	return ids
}
