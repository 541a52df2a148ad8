package application

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/membership"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

const (
	holdingWait = 8 * time.Second // a node one about its holdings; below its lease
	callTimeout = 3 * time.Second // of an order, and beyond a wait
	tickEvery   = 100 * time.Millisecond
	pauseLeast  = 100 * time.Millisecond // after a call that failed or was refused
)

// Run follows masters and nodes until ctx is done, from the first application on.
// It returns when every goroutine of the service has ended. What is ordered stays:
// another frontend may take the applications over.
//
// It may be called once.
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
	for ctx.Err() == nil {
		select {
		case <-tick.C:
			s.update(func(b *registry, now time.Time) { b.tick(now) })
		case <-ctx.Done():
		}
	}
	stop()
	s.following.Wait()
}

// follower returns what keeps the nodes of one master's membership known.
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

// pause waits a moment.
func pause(ctx context.Context) {
	timer := time.NewTimer(pauseLeast + rand.N(pauseLeast)) //nolint:gosec // jitter, not a secret
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// applyMembership applies the membership of one master.
func (s *Service) applyMembership(i int, m *wire.Membership) {
	s.update(func(b *registry, now time.Time) {
		s.memberships[i] = *m
		on := map[string]*wire.MemberNode{}
		for _, r := range s.memberships {
			for j := range r.Nodes {
				if r.Nodes[j].Memory > 0 {
					on[r.Nodes[j].Name] = &r.Nodes[j]
				}
			}
		}
		for name, n := range b.nodes {
			switch r := on[name]; {
			case r == nil && n.missingSince.IsZero():
				n.missingSince = now
			case r == nil:
			case r.Address != n.address:
				n.stop()
				b.nodeLost(name, now)
			default:
				n.missingSince, n.incarnation = time.Time{}, r.Incarnation
			}
		}
		for name, r := range on {
			if b.nodes[name] == nil {
				s.followNode(b, r)
			}
		}
	})
}

// followNode begins to follow a node. It needs the lock.
func (s *Service) followNode(b *registry, r *wire.MemberNode) {
	way, end, err := s.cfg.Dial(r.Name, r.Address)
	if err != nil {
		s.cfg.Logger.Error("a node cannot be called", "node", r.Name, "address", r.Address, "error", err)
		return
	}
	ctx, stop := context.WithCancel(s.ctx)
	n := &node{name: r.Name, address: r.Address, host: r.Host, incarnation: r.Incarnation, memory: r.Memory, wake: make(chan struct{}, 1), stop: stop}
	b.nodes[r.Name] = n
	ended := make(chan struct{})
	s.following.Go(func() { defer close(ended); s.sendOrders(ctx, n, way) })
	s.following.Go(func() {
		s.followHoldings(ctx, n, way)
		<-ended
		stop()
		end()
	})
}

// sendOrders tells a node what is due there.
func (s *Service) sendOrders(ctx context.Context, n *node, way Node) {
	for {
		select {
		case <-n.wake:
		case <-ctx.Done():
			return
		}
		for due := s.dueOrders(n); len(due) > 0 && ctx.Err() == nil; due = s.dueOrders(n) {
			good := true
			for _, o := range due {
				good = s.sendOrder(ctx, n, way, o) && good
			}
			if !good {
				pause(ctx)
			}
		}
	}
}

// dueOrders returns the orders that a node does not know.
func (s *Service) dueOrders(n *node) (list []*wire.Order) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.registry.apps {
		if o := s.registry.order(a, n.name); o != nil {
			list = append(list, o)
		}
	}
	return list
}

func (s *Service) sendOrder(ctx context.Context, n *node, way Node, o *wire.Order) (accepted bool) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	r, err := way.OrderExecutors(ctx, o)
	var refusal *api.Error
	switch {
	case err == nil:
		s.update(func(b *registry, now time.Time) { b.orderAnswered(o, n.name, r, now) })
		return r.Accepted
	case errors.As(err, &refusal) && refusal.Problem == api.Invalid:
		s.cfg.Logger.Error("a node refused an order", "node", n.name, "application", o.Application.ID, "error", err)
	default:
		s.cfg.Logger.Debug("a node did not take an order; it is told again", "node", n.name, "application", o.Application.ID, "error", err)
	}
	return false
}

// followHoldings keeps what is known of a node's holdings.
func (s *Service) followHoldings(ctx context.Context, n *node, way Node) {
	var last wire.Holdings
	for ctx.Err() == nil {
		asked := time.Now()
		call, cancel := context.WithTimeout(ctx, holdingWait+callTimeout)
		h, err := way.Holdings(call, s.cfg.Frontend, last.Incarnation, last.Version, holdingWait)
		cancel()
		if err != nil {
			s.cfg.Logger.Debug("a node did not tell its holdings", "node", n.name, "error", err)
			pause(ctx)
			continue
		}
		last = h
		s.update(func(b *registry, now time.Time) {
			if b.nodes[n.name] == n {
				b.applyHoldings(n.name, &h, asked, now)
			}
		})
	}
}
