package frontend

import (
	"context"
	"errors"
	"time"

	"github.com/pigeon-sched/pigeon/frontend/dispatch"
	"github.com/pigeon-sched/pigeon/frontend/jobs"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/daemon"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// maxDigests bounds the nodes whose inventories are remembered.
const maxDigests = 4096

// inventories answers what nodes hold of this frontend. It belongs to the owner goroutine.
type inventories struct {
	jobs     *jobs.Table
	dispatch *dispatch.Dispatcher
	digests  map[string]digest // by node: of the inventories of several parts
	ends     uint64            // of tasks and jobs: what is wanted changes with them alone
}

// digest identifies an inventory that was answered.
type digest struct {
	incarnation int64 // of the node's process
	count       int
	hash        int64
	ends        uint64 // when its first part was answered
	whole       bool   // all its parts were
}

// answer steps a part of an inventory into the core, and answers it.
func (s *inventories) answer(v *wire.Inventory) (r wire.InventoryReply) {
	if s.dispatch.Superseded(v.Node, v.Incarnation) {
		return r // what that process held is void
	}
	d := digest{incarnation: v.Incarnation, count: v.Count, hash: v.Hash, ends: s.ends, whole: !v.More}
	before := s.digests[v.Node]
	if v.Digest {
		d.whole = true
		// The core may know from nothing but these lists where the tasks of the journal are.
		r.SendAll = before != d || s.jobs.Restored() > 0
		return r
	}
	for i := range v.Slots {
		slot := &v.Slots[i]
		s.dispatch.StepHeld(v.Node, slot.Slot, slot.Attempts)
		for _, id := range slot.Attempts {
			if !s.jobs.Wants(id) {
				r.Unwanted = append(r.Unwanted, id)
			} else {
				s.jobs.AtNode(s.jobs.Get(id.Job), v.Node)
			}
		}
	}
	if before.incarnation == d.incarnation && before.count == d.count && before.hash == d.hash && !before.whole {
		d.ends = before.ends // of its first part
	}
	s.remember(v.Node, d)
	return r
}

// hear steps that somebody holds the attempts of a refused inventory, whose node is not on the
// membership yet: with a master that does not answer it may not be for long, and the tasks are
// not lost meanwhile. The node sends the parts of a large one nevertheless, and all of them
// again.
func (s *inventories) hear(v *wire.Inventory) {
	for i := range v.Slots {
		s.dispatch.StepHeldSomewhere(v.Slots[i].Attempts)
	}
}

// partAfter is when a node that is not on the membership yet may send the next part of what it
// holds.
const partAfter = time.Millisecond

// hear hears a refused inventory, and returns its refusal when that is done: meanwhile the server
// of the call bounds its memory.
func (f *Frontend) hear(ctx context.Context, v *wire.Inventory, refusal error) error {
	heard := func() struct{} { f.owner.inventories.hear(v); return struct{}{} }
	if _, err := daemon.Ask(ctx, f.mailbox, "hearing what node "+v.Node+" holds", heard); err != nil {
		return err
	}
	if e, ok := errors.AsType[*api.Error](refusal); ok {
		e.RetryAfter = partAfter
	}
	return refusal
}

// remember records the digest of an inventory that is too large to be listed each time.
func (s *inventories) remember(node string, d digest) {
	if d.count <= wire.MaxInventory {
		delete(s.digests, node)
		return
	}
	if len(s.digests) >= maxDigests {
		clear(s.digests) // their nodes list all once more
	}
	s.digests[node] = d
}

// Inventory answers which of the attempts that a node holds are not wanted. The answer waits
// until the results that it is based on are on the disk: the node forgets its own.
func (f *Frontend) Inventory(ctx context.Context, v *wire.Inventory) (wire.InventoryReply, error) {
	tried := "answering what node " + v.Node + " holds"
	if v.Frontend != f.cfg.ID {
		return wire.InventoryReply{}, inventoryOfAnother(v, f.cfg.ID, tried)
	}
	if err := f.owner.dispatch.Unknown(&wire.Batch{Sender: wire.Ref{Role: sched.Worker, Name: v.Node}, Incarnation: v.Incarnation}); err != nil {
		return wire.InventoryReply{}, f.hear(ctx, v, err)
	}
	type answer struct {
		reply wire.InventoryReply
		err   error
	}
	done := make(chan answer, 1)
	if err := f.post(func() {
		reply := f.owner.inventories.answer(v)
		reply.Frontend, reply.Incarnation = f.cfg.ID, f.process.Incarnation
		f.metrics.inventories.Inc()
		f.metrics.unwanted.Add(float64(len(reply.Unwanted)))
		e := f.owner.outbox.Effects()
		e.replies = append(e.replies, func(err error) { done <- answer{reply, err} })
	}); err != nil {
		return wire.InventoryReply{}, f.mailbox.Refusal(err, tried)
	}
	a, err := daemon.Await(ctx, f.mailbox, tried, done)
	return a.reply, errors.Join(err, a.err)
}
