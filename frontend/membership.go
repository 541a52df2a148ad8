package frontend

import (
	"context"

	"github.com/pigeon-sched/pigeon/internal/membership"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// newFollower returns what keeps the owner's membership the same as the first master's.
// Each is applied before the next is asked for, so that many changes come as one.
func (f *Frontend) newFollower() *membership.Follower {
	m := f.masters[0]
	return membership.NewFollower(membership.FollowerOptions{
		Source: m.peer, Margin: helloEvery, Apply: f.applyMembership,
		Failed: func(err error, _ int) {
			f.log.Debug("the master did not answer with its membership", "address", m.address, "error", err)
		},
	})
}

// applyMembership has the owner apply a membership, and waits until it has.
func (f *Frontend) applyMembership(ctx context.Context, m *wire.Membership) bool {
	done := make(chan struct{})
	if err := f.urge(func() { f.owner.applyMembership(*m); close(done) }); err != nil {
		return false // the daemon is stopping
	}
	select {
	case <-done:
	case <-ctx.Done():
	}
	return true
}
