package dispatch

import (
	"time"

	"github.com/pigeon-sched/pigeon/internal/link"
	"github.com/pigeon-sched/pigeon/internal/membership"
	"github.com/pigeon-sched/pigeon/internal/membership/protocol"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// registerWithin is how long peers that are missing on a new master's membership count as
// alive, since they may still register there.
const registerWithin = 2 * time.Second

// excludedFor is how long a node that refused messages counts as lost.
const excludedFor = time.Second

// peers are the nodes and the other frontends on the master's membership, to which this
// frontend sends messages itself. The master alone decides which of them are alive.
//
//	          on the membership                refuses messages
//	unknown ────────────────────▶ a member ─────────────────────▶ excluded
//	   ▲                           │    ▲────────excludedFor────────┘
//	   └──missing, or another──────┘
//	      process of its name
//
// A peer that has left is first removed everywhere, and the core learns of it; only then
// are new peers added, perhaps under the same number. All but the sessions and highest
// belongs to the owner goroutine.
type peers struct {
	*core
	links      *link.Set
	sessions   *membership.Sessions
	membership wire.Membership // the last that was applied
	listed     bool            // the membership has this process
	doubtful   bool            // workers may have dropped its reservations
	nodes      map[string]*node
	others     map[string]wire.MemberFrontend
	members    []sched.Member      // the last that were stepped, nil before the first
	highest    *membership.Highest // worker number of the memberships; for hellos
}

// node is a node monitor on the membership.
type node struct {
	wire.MemberNode
	excluded bool
}

func newPeers(c *core) *peers {
	return &peers{
		core: c, sessions: membership.NewSessions(protocol.Patience{NewMaster: sched.Time(registerWithin)}),
		nodes: map[string]*node{}, others: map[string]wire.MemberFrontend{}, highest: new(membership.Highest),
	}
}

func nodeRef(name string) wire.Ref     { return wire.Ref{Role: sched.Worker, Name: name} }
func frontendRef(name string) wire.Ref { return wire.Ref{Role: sched.Distributor, Name: name} }

// apply applies a membership, and reports whether it is a new master's.
func (p *peers) apply(m wire.Membership) (newMaster bool) {
	now := p.opts.Clock.Now()
	newMaster = p.sessions.NewMaster(m.Incarnation, now)
	p.doubtful = p.doubtful || newMaster
	p.membership = m
	p.highest.Observe(&m, now)
	left := p.sessions.Retain(named(&m), now)
	p.applyFrontends(left)
	if p.removeNodes(left) {
		p.stepMembers()
	}
	p.addNodes()
	p.stepMembers()
	for _, peer := range p.links.Forget(link.ForgetAfter, time.Now()) {
		p.process.Inbox.Forget(peer)
	}
	return newMaster
}

// named returns the names on a membership.
func named(m *wire.Membership) map[wire.Ref]bool {
	names := make(map[wire.Ref]bool, len(m.Nodes)+len(m.Frontends))
	for i := range m.Nodes {
		names[nodeRef(m.Nodes[i].Name)] = true
	}
	for i := range m.Frontends {
		names[frontendRef(m.Frontends[i].Name)] = true
	}
	return names
}

// removeNodes removes the nodes that have left or were restarted, and the slots whose
// numbers have changed. It reports whether there were any.
func (p *peers) removeNodes(left []wire.Ref) (removed bool) {
	for _, peer := range left {
		if n := p.nodes[peer.Name]; peer.Role == sched.Worker && n != nil {
			p.opts.Log.Warn("node lost: its master has removed it from the membership", "node", peer.Name, "address", n.Address)
			p.links.Remove(peer)
			p.removeNode(n)
			removed = true
		}
	}
	for i := range p.membership.Nodes {
		now := &p.membership.Nodes[i]
		n := p.nodes[now.Name]
		switch {
		case n == nil:
		case now.Incarnation != n.Incarnation || now.Address != n.Address:
			p.removeNode(n)
			removed = true
		default:
			removed = p.removeSlots(n, now.Numbers) || removed
		}
	}
	return removed
}

func (p *peers) removeNode(n *node) {
	p.removeSlots(n, nil)
	delete(p.nodes, n.Name)
}

// removeSlots withdraws the numbers of slots that now have other numbers, and reports
// whether there were any.
func (p *peers) removeSlots(n *node, now []int32) (removed bool) {
	for slot, number := range n.Numbers {
		if number > 0 && (slot >= len(now) || now[slot] != number) {
			p.opts.Addrs.Drop(slotRef(n.Name, slot))
			n.Numbers[slot] = 0
			removed = true
		}
	}
	return removed
}

// addNodes adds the new nodes of the membership and the new numbers of slots.
func (p *peers) addNodes() {
	for i := range p.membership.Nodes {
		found := &p.membership.Nodes[i]
		if found.Name == "" {
			continue
		}
		n := p.nodes[found.Name]
		if n == nil {
			n = &node{MemberNode: *found}
			n.Numbers = nil
			p.nodes[n.Name] = n
			p.sessions.Enter(nodeRef(n.Name), n.Incarnation)
			p.links.Add(nodeRef(n.Name), n.Address, n.Incarnation)
		}
		n.Draining = found.Draining
		n.Numbers = append(n.Numbers, make([]int32, max(0, len(found.Numbers)-len(n.Numbers)))...)
		for slot, number := range found.Numbers {
			if number == n.Numbers[slot] {
				continue
			}
			if !p.opts.Addrs.Set(slotRef(n.Name, slot), number-1) {
				p.opts.Log.Error("a worker has a number that another worker has; it is not used here", "node", n.Name, "slot", slot, "number", number-1)
				continue
			}
			n.Numbers[slot] = number
		}
	}
}

func slotRef(name string, slot int) wire.Ref {
	return wire.Ref{Role: sched.Worker, Name: name, Slot: int32(slot)} //nolint:gosec // a slot's place in a list
}
