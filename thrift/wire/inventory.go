package wire

import (
	"context"
	"fmt"

	"github.com/apache/thrift/lib/go/thrift"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/gen/peer"
)

// MaxInventory is how many attempts one message of an inventory lists at most.
const MaxInventory = 1000

// Inventory is what a node holds of one frontend, or a part of it.
type Inventory struct {
	Node        string
	Incarnation int64  // of the node's process
	Address     string // where it serves other daemons
	Frontend    string // that is meant
	Count       int    // attempts of the whole inventory
	Hash        int64  // of the whole inventory; equal ones have the same attempts
	Slots       []SlotInventory
	More        bool // further parts follow
	Digest      bool // nothing is listed
}

// SlotInventory is the part of an inventory that one slot holds: attempts that run, are
// suspended or wait there, and attempts whose results are kept.
type SlotInventory struct {
	Slot     int32
	Attempts []sched.AttemptID
}

// InventoryReply is a frontend's answer to an inventory.
type InventoryReply struct {
	Frontend    string // the frontend that answers
	Incarnation int64
	Unwanted    []sched.AttemptID // to be stopped, or their results to be forgotten
	SendAll     bool              // a digest is not that of what this process answered last
}

// InventoryReceiver receives what nodes hold; a frontend is one.
type InventoryReceiver interface {
	Inventory(ctx context.Context, v *Inventory) (InventoryReply, error)
}

var _ InventoryReceiver = (*PeerClient)(nil)

func (h peerHandler) Inventory(ctx context.Context, t *peer.TInventory) (*peer.TInventoryReply, error) {
	if h.ports.Inventory == nil {
		return nil, refusal(notHere("frontend"))
	}
	if t == nil {
		t = peer.NewTInventory()
	}
	v := inventoryFrom(t)
	if problem := v.problem(); problem != "" {
		return nil, refusal(refusePeer(Ref{Role: sched.Worker, Name: v.Node}, problem))
	}
	if err := speaks(ctx, Ref{Role: sched.Worker, Name: v.Node}, "listing what it holds"); err != nil {
		return nil, refusal(err)
	}
	r, err := h.ports.Inventory.Inventory(ctx, &v)
	return inventoryReplyTo(r), refusal(err)
}

// Inventory lists to a frontend what a node holds of it.
func (p *PeerClient) Inventory(ctx context.Context, v *Inventory) (InventoryReply, error) {
	r, err := invoke(ctx, p.caller, "listing what a node holds to frontend "+v.Frontend, func(ctx context.Context, c thrift.TClient) (*peer.TInventoryReply, error) {
		return peer.NewPeerServiceClient(c).Inventory(ctx, inventoryTo(*v))
	})
	return inventoryReplyFrom(r), err
}

// problem returns why an inventory cannot be accepted, "" when it can.
func (v *Inventory) problem() string {
	if v.Node == "" {
		return "the inventory does not name its node"
	}
	n := 0
	for i := range v.Slots {
		s := &v.Slots[i]
		if s.Slot < 0 {
			return fmt.Sprintf("slot %d of the inventory does not exist", s.Slot)
		}
		for _, id := range s.Attempts {
			if id.Task < 0 || id.Task >= api.MaxTasks || id.Attempt < 1 {
				return fmt.Sprintf("task %d or attempt %d of the inventory is out of range", id.Task, id.Attempt)
			}
		}
		n += len(s.Attempts)
	}
	if n > MaxInventory || n > v.Count {
		return fmt.Sprintf("the inventory lists %d attempts of %d, and a message lists %d at most", n, v.Count, MaxInventory)
	}
	return ""
}
