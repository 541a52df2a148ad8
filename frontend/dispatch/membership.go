package dispatch

import (
	"context"
	"time"

	"github.com/pigeon-sched/pigeon/internal/membership"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// newFollower returns what keeps the owner's membership the same as the first master's.
// Each is applied before the next is asked for, so that many changes come as one.
func (d *Dispatcher) newFollower() *membership.Follower {
	m := d.masters.list[0]
	return membership.NewFollower(membership.FollowerOptions{
		Source: m.peer, Margin: helloEvery, Apply: d.applyAndWait,
		Failed: func(err error, _ int) {
			d.opts.Log.Debug("the master did not answer with its membership", "address", m.address, "error", err)
		},
	})
}

// applyAndWait has the owner goroutine apply a membership, and waits until it has.
func (d *Dispatcher) applyAndWait(ctx context.Context, m *wire.Membership) bool {
	done := make(chan struct{})
	d.opts.Post(func() { d.applyMembership(*m); close(done) })
	select {
	case <-done:
	case <-ctx.Done():
	}
	return true
}

// applyMembership applies a membership.
func (d *Dispatcher) applyMembership(m wire.Membership) {
	if d.peers.apply(m) {
		time.AfterFunc(registerAgain, func() { d.opts.Post(func() { d.applyMembership(d.peers.membership) }) }) // for peers that have not registered with it
	}
	d.reservations.markStale()
	d.masters.announceIfKnown()
}

// Membership returns the last that was applied.
func (d *Dispatcher) Membership() *wire.Membership { return &d.peers.membership }

// Workers returns how many workers the core may use, under a policy with one master.
func (d *Dispatcher) Workers() int { return len(d.peers.members) }

// Frontends returns how many other frontends are on the membership.
func (d *Dispatcher) Frontends() int { return len(d.peers.others) }

// NodeAddress returns where a node of the membership serves other daemons, "" when it is
// not on it.
func (d *Dispatcher) NodeAddress(node string) string {
	if n := d.peers.nodes[node]; n != nil {
		return n.Address
	}
	return ""
}
