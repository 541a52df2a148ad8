package application

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/delay"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// applyMembership applies the membership of one master.
func (s *Service) applyMembership(i int, m *wire.Membership) {
	s.update(func(reg *registry, now time.Time) {
		s.memberships[i] = *m
		on := map[string]*wire.MemberNode{}
		for _, r := range s.memberships {
			for j := range r.Nodes {
				if r.Nodes[j].Memory > 0 {
					on[r.Nodes[j].Name] = &r.Nodes[j]
				}
			}
		}
		for name, n := range reg.nodes {
			switch r := on[name]; {
			case r == nil && n.missingSince.IsZero():
				n.missingSince = now
			case r == nil:
			case r.Address != n.address:
				n.stop()
				reg.nodeLost(name, now)
			default:
				n.missingSince, n.incarnation, n.slots = time.Time{}, r.Incarnation, r.Slots
			}
		}
		for name, r := range on {
			if reg.nodes[name] == nil {
				s.followNode(reg, r)
			}
		}
	})
}

// followNode starts the goroutines that follow a node. The caller holds the lock.
func (s *Service) followNode(reg *registry, r *wire.MemberNode) {
	client, closeClient, err := s.cfg.Dial(r.Name, r.Address)
	if err != nil {
		s.cfg.Logger.Error("a node cannot be called", "node", r.Name, "address", r.Address, "error", err)
		return
	}
	ctx, stop := context.WithCancel(s.ctx)
	n := &node{name: r.Name, address: r.Address, host: r.Host, incarnation: r.Incarnation, memory: r.Memory, slots: r.Slots, wake: make(chan struct{}, 1), stop: stop}
	reg.nodes[r.Name] = n
	ended := make(chan struct{})
	s.following.Go(func() { defer close(ended); s.sendOrders(ctx, n, client) })
	s.following.Go(func() {
		s.followHoldings(ctx, n, client)
		<-ended
		stop()
		closeClient()
	})
}

// sendOrders sends a node the orders that are due.
func (s *Service) sendOrders(ctx context.Context, n *node, client Node) {
	for {
		select {
		case <-n.wake:
		case <-ctx.Done():
			return
		}
		for due := s.dueOrders(n); len(due) > 0 && ctx.Err() == nil; due = s.dueOrders(n) {
			accepted := true
			for _, o := range due {
				accepted = s.sendOrder(ctx, n, client, o) && accepted
			}
			if !accepted {
				pause(ctx)
			}
		}
	}
}

// dueOrders returns the orders that a node has not accepted.
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

func (s *Service) sendOrder(ctx context.Context, n *node, client Node, o *wire.Order) (accepted bool) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	r, err := client.OrderExecutors(ctx, o)
	var refusal *api.Error
	switch {
	case err == nil:
		s.update(func(reg *registry, now time.Time) { reg.orderAnswered(o, n.name, r, now) })
		return r.Accepted
	case errors.As(err, &refusal) && refusal.Problem == api.Invalid:
		s.cfg.Logger.Error("a node refused an order", "node", n.name, "application", o.Application.ID, "error", err)
	default:
		s.cfg.Logger.Debug("a node did not answer an order; it is repeated", "node", n.name, "application", o.Application.ID, "error", err)
	}
	return false
}

// followHoldings keeps a node's holdings up to date.
func (s *Service) followHoldings(ctx context.Context, n *node, client Node) {
	var last wire.Holdings
	for ctx.Err() == nil {
		requested := time.Now()
		call, cancel := context.WithTimeout(ctx, holdingWait+callTimeout)
		h, err := client.Holdings(call, s.cfg.Frontend, last.Incarnation, last.Version, holdingWait)
		cancel()
		if err != nil {
			s.cfg.Logger.Debug("a node did not answer with its holdings", "node", n.name, "error", err)
			pause(ctx)
			continue
		}
		last = h
		s.update(func(reg *registry, now time.Time) {
			if reg.nodes[n.name] == n {
				reg.applyHoldings(n.name, &h, requested, now)
			}
		})
	}
}

// pause waits before a call is repeated.
func pause(ctx context.Context) {
	delay.For(ctx, pauseLeast+rand.N(pauseLeast)) //nolint:gosec // jitter, not a secret
}
