package master

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pigeon-sched/pigeon/internal/link"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// node is a registered node monitor. Owned by the owner goroutine.
type node struct {
	id          string
	ref         wire.Ref
	incarnation int64
	address     string
	memory      int64  // MB for the processes of applications
	host        string // as applications know it
	slots       map[int32]*slot
	heard       time.Time // of its last hello or snapshot
	up          bool      // messages reach it
}

// loseNode takes all slots of a node out.
func (o *owner) loseNode(n *node, reason string) {
	o.log.Warn("node lost", "node", n.id, "address", n.address, "reason", reason)
	for _, slot := range sortedSlots(n.slots) {
		o.slotLost(n, slot, reason)
	}
	delete(o.nodes, n.id)
	o.rollChanged = true
	o.links.Remove(n.ref) // a launch must not arrive after its attempt was given up
}

// sweepsToLoss is how often nodes are looked for within the time after which a
// silent one is lost, so that it is found late by a quarter at most.
const sweepsToLoss = 4

// sweep loses the nodes that have not been heard of. Time in which this process
// did not run itself, because its machine slept or was overloaded, does not
// count: what nodes said meanwhile waits to be read.
func (o *owner) sweep() {
	now, every := time.Now(), o.cfg.LostAfter/sweepsToLoss
	var away time.Duration
	if late := now.Sub(o.swept) - every; !o.swept.IsZero() && late > every {
		away = late
	}
	o.swept = now
	var lost []*node
	for _, n := range o.nodes {
		n.heard = n.heard.Add(away)
		if now.Sub(n.heard) >= o.cfg.LostAfter {
			lost = append(lost, n)
		}
	}
	o.sweepFrontends(now, away)
	slices.SortFunc(lost, func(a, b *node) int { return strings.Compare(a.id, b.id) })
	for _, n := range lost {
		o.loseNode(n, fmt.Sprintf("nothing was heard of it for %v", o.cfg.LostAfter))
	}
}

// linkState stops launching to a node that cannot be reached, and loses it when
// that lasts.
func (o *owner) linkState(peer wire.Ref, s link.State) {
	n := o.nodes[peer.Name]
	if peer.Role != sched.Worker || n == nil {
		return
	}
	switch s.Status {
	case link.Up:
		n.up = true
		o.serve(n)
	case link.Down:
		o.log.Warn("node cannot be reached; nothing is launched there meanwhile", "node", n.id, "error", s.Err)
		n.up = false
		o.serve(n)
	case link.Lost:
		o.loseNode(n, fmt.Sprintf("it could not be reached for %v", o.cfg.LostAfter))
	}
}

// serve tells the core what the slots of a node serve now.
func (o *owner) serve(n *node) {
	for _, slot := range sortedSlots(n.slots) {
		o.stepShell(&sched.Message{Kind: sched.WorkerServes, Peer: n.slots[slot].worker, Serves: n.servesNow(slot)})
	}
}

// refusedBy takes a peer's word that it will never take some messages. A node is
// lost, so that it registers again and its tasks are tried elsewhere. To a
// frontend the rest is sent all the same.
func (o *owner) refusedBy(peer wire.Ref, messages int, why error) {
	o.log.Error("a peer refused messages", "peer", peer.String(), "messages", messages, "error", why)
	if n := o.nodes[peer.Name]; peer.Role == sched.Worker && n != nil {
		o.loseNode(n, "it refused the master's messages: "+why.Error())
	}
}
