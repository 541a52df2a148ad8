package frontend

import (
	"sync/atomic"
	"time"

	"github.com/pigeon-sched/pigeon/internal/linkset"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// Times of what the roll says.
const (
	// registerAgain is how long peers that a new master's roll does not name yet
	// pass for alive: they are registering there.
	registerAgain = 2 * time.Second
	// barredFor is how long a node that refused messages passes for lost.
	barredFor = time.Second
)

// peers are the nodes and the other frontends that the master's roll names, to
// whom this frontend speaks itself. The master alone decides who is alive.
//
//	          on the roll                  refuses messages
//	unknown ──────────────▶ known, a member ──────────────▶ known, no member
//	   ▲                         │     ▲──────barredFor─────────┘
//	   └──left out, or another───┘
//	      process of its name
//
// Who has gone is first taken out of everything, and the core is told; only then
// comes who is new, perhaps under the same number. All but visitors belongs to the
// owner goroutine.
type peers struct {
	links    *linkset.Set
	visitors *visitors
	roll     wire.Membership // taken last
	grace    time.Time       // until then a new master's roll takes nobody out
	listed   bool            // the roll names this process
	doubtful bool            // workers may have dropped what it has reserved
	patience time.Duration   // with a job in doubt
	looking  bool            // jobs in doubt are looked at soon
	nodes    map[string]*node
	others   map[string]wire.MemberFrontend
	members  []sched.Member // as the core was told last, nil before
	highest  *atomic.Int32  // number of a worker that was ever on the roll, plus one; for hellos
}

// node is a node monitor on the roll.
type node struct {
	wire.MemberNode
	barred bool
}

func newPeers() peers {
	return peers{visitors: newVisitors(), patience: doubtFirst, nodes: map[string]*node{}, others: map[string]wire.MemberFrontend{}, highest: new(atomic.Int32)}
}

func nodeRef(name string) wire.Ref     { return wire.Ref{Role: sched.Worker, Name: name} }
func frontendRef(name string) wire.Ref { return wire.Ref{Role: sched.Distributor, Name: name} }

// enroll takes a roll in.
func (o *owner) enroll(roll wire.Membership) {
	p := &o.peers
	if p.roll.Incarnation != 0 && p.roll.Incarnation != roll.Incarnation {
		p.grace, p.doubtful = time.Now().Add(registerAgain), true
		time.AfterFunc(registerAgain, func() { _ = o.urge(func() { o.enroll(o.peers.roll) }) }) // a stopped daemon has no peers
	}
	p.roll = roll
	graceful := time.Now().Before(p.grace)
	o.enrollFrontends(graceful)
	if o.dropNodes(graceful) {
		o.tellMembers()
	}
	o.meetNodes()
	o.tellMembers()
	o.doubt()
	o.settleIfReady()
}

// dropNodes takes out the nodes that are gone or have become others, and the slots
// that have other numbers; it says whether there were any.
func (o *owner) dropNodes(graceful bool) (gone bool) {
	named := make(map[string]*wire.MemberNode, len(o.peers.roll.Nodes))
	for i := range o.peers.roll.Nodes {
		named[o.peers.roll.Nodes[i].Name] = &o.peers.roll.Nodes[i]
	}
	for name, n := range o.peers.nodes { // they do not depend on each other's order
		now := named[name]
		switch {
		case now == nil && graceful:
		case now == nil:
			o.log.Warn("node lost: its master has taken it off the roll", "node", name, "address", n.Address)
			o.peers.visitors.leave(nodeRef(name))
			o.peers.links.Remove(nodeRef(name))
			o.dropNode(n)
			gone = true
		case now.Incarnation != n.Incarnation || now.Address != n.Address:
			o.dropNode(n)
			gone = true
		default:
			gone = o.dropSlots(n, now.Numbers) || gone
		}
	}
	return gone
}

func (o *owner) dropNode(n *node) {
	o.dropSlots(n, nil)
	delete(o.peers.nodes, n.Name)
}

// dropSlots takes back the numbers of slots that have others now, and says whether
// there were any.
func (o *owner) dropSlots(n *node, now []int32) (gone bool) {
	for slot, number := range n.Numbers {
		if number > 0 && (slot >= len(now) || now[slot] != number) {
			o.addrs.Drop(slotRef(n.Name, slot))
			n.Numbers[slot] = 0
			gone = true
		}
	}
	return gone
}

// meetNodes takes in what is new on the roll: nodes, and numbers of their slots.
func (o *owner) meetNodes() {
	for i := range o.peers.roll.Nodes {
		found := &o.peers.roll.Nodes[i]
		if found.Name == "" {
			continue
		}
		n := o.peers.nodes[found.Name]
		if n == nil {
			n = &node{MemberNode: *found}
			n.Numbers = nil
			o.peers.nodes[n.Name] = n
			o.peers.visitors.enter(nodeRef(n.Name), n.Incarnation)
			o.peers.links.Add(nodeRef(n.Name), n.Address, n.Incarnation)
		}
		n.Numbers = append(n.Numbers, make([]int32, max(0, len(found.Numbers)-len(n.Numbers)))...)
		for slot, number := range found.Numbers {
			if number == n.Numbers[slot] {
				continue
			}
			o.peers.highest.Store(max(number, o.peers.highest.Load()))
			if !o.addrs.Set(slotRef(n.Name, slot), number-1) {
				o.log.Error("a worker's number is another's; it is not used here", "node", n.Name, "slot", slot, "number", number-1)
				continue
			}
			n.Numbers[slot] = number
		}
	}
}

func slotRef(name string, slot int) wire.Ref {
	return wire.Ref{Role: sched.Worker, Name: name, Slot: int32(slot)} //nolint:gosec // a slot's place in a list
}
