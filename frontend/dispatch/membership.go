package dispatch

import (
	"context"
	"time"

	"github.com/pigeon-sched/pigeon/internal/membership"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// newFollower returns the follower that applies the first master's memberships. Each is
// applied before the next is requested, so that many changes arrive as one.
func (d *Dispatcher) newFollower() *membership.Follower {
	m := d.masters.list[0]
	return membership.NewFollower(membership.FollowerOptions{
		Source: m.peer, Margin: helloEvery, Apply: d.applyAndWait,
		Failed: func(err error, _ int) {
			d.opts.Log.Debug("the master did not answer with its membership", "address", m.address, "error", err)
			if m.peer.Several() {
				m.heartbeat.BeatNow() // another one may lead
			}
		},
	})
}

// applyAndWait makes the owner goroutine apply a membership, and waits until it has.
func (d *Dispatcher) applyAndWait(ctx context.Context, m *wire.Membership) bool {
	done := make(chan struct{})
	d.post(func() { d.applyMembership(*m); close(done) })
	select {
	case <-done:
	case <-ctx.Done():
	}
	return true
}

// applyMembership applies a membership.
func (d *Dispatcher) applyMembership(m wire.Membership) {
	if d.peers.apply(m) {
		d.awaitRegistrations()
	}
	d.reservations.markStale()
	d.masters.announceIfKnown()
}

// awaitRegistrations applies the membership once more when the time to register with a new
// master is over: then the peers that have not registered are lost. If this process did
// not run meanwhile, they have that time again.
func (d *Dispatcher) awaitRegistrations() {
	time.AfterFunc(registerWithin, func() {
		d.post(func() {
			d.applyMembership(d.peers.membership)
			if _, some := d.peers.sessions.Next(); some {
				d.awaitRegistrations()
			}
		})
	})
}

// Membership returns the membership that was applied last.
func (d *Dispatcher) Membership() *wire.Membership { return &d.peers.membership }

// Workers returns how many workers the core may use, under a policy with one master.
func (d *Dispatcher) Workers() int { return len(d.peers.members) }

// Frontends returns how many other frontends are on the membership.
func (d *Dispatcher) Frontends() int { return len(d.peers.others) }

// NodeAddress returns the address at which a node serves other daemons, "" when the node
// is not on the membership.
func (d *Dispatcher) NodeAddress(node string) string {
	if n := d.peers.nodes[node]; n != nil {
		return n.Address
	}
	return ""
}
