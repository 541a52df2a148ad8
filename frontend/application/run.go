package application

import (
	"context"
	"time"

	"github.com/pigeon-sched/pigeon/internal/membership"
	"github.com/pigeon-sched/pigeon/internal/membership/protocol"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

const (
	holdingWait = 8 * time.Second // for the holdings of a node; below its lease
	callTimeout = 3 * time.Second // of an order, and added to a wait
	tickEvery   = 100 * time.Millisecond
	// pauseNoticed is how late a tick must be at least to show that this process was
	// stopped.
	pauseNoticed = time.Second
	pauseLeast   = 100 * time.Millisecond // after a call that failed or was refused
)

// Run follows masters and nodes from the first application until ctx is done, and
// returns when every goroutine of the service has ended. Orders stay in force:
// another frontend may take over the applications. Run may be called once.
func (s *Service) Run(ctx context.Context) {
	defer context.AfterFunc(ctx, func() { close(s.done) })()
	select {
	case <-s.first:
	case <-ctx.Done():
		return
	}
	ctx, stop := context.WithCancel(ctx)
	s.mu.Lock()
	s.ctx = ctx
	s.mu.Unlock()
	for i, source := range s.cfg.Memberships {
		s.following.Go(func() { s.follower(i, source).Run(ctx) })
	}
	tick := time.NewTicker(tickEvery)
	defer tick.Stop()
	began, pauses := time.Now(), protocol.NewPauses(sched.Time(pauseNoticed/2))
	for ctx.Err() == nil {
		select {
		case <-tick.C:
			s.update(func(reg *registry, now time.Time) {
				reg.postpone(time.Duration(pauses.Since(sched.Time(now.Sub(began)))), now)
				reg.tick(now)
			})
		case <-ctx.Done():
		}
	}
	stop()
	s.following.Wait()
	s.update(func(reg *registry, now time.Time) { reg.closeOver(now, 0) })
}

// follower returns the follower of one master's membership.
func (s *Service) follower(i int, source wire.MembershipSource) *membership.Follower {
	return membership.NewFollower(membership.FollowerOptions{
		Source: source, Margin: callTimeout,
		Apply: func(_ context.Context, m *wire.Membership) bool {
			s.applyMembership(i, m)
			return true
		},
		Failed: func(err error, _ int) {
			s.cfg.Logger.Debug("a master did not answer with its membership", "place", i, "error", err)
		},
	})
}
