package frontend

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/pigeon-sched/pigeon/frontend/dispatch"
	"github.com/pigeon-sched/pigeon/frontend/events"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/membership"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

const (
	// drainsEvery is the time between two looks at nodes that drain.
	drainsEvery = time.Second
	// membershipMargin is how late a master's answer may be.
	membershipMargin = time.Second
)

// clusterEvents publishes what happens to nodes and to other frontends, as the masters' memberships
// report it. It asks the masters for more only when a node has left or drains.
type clusterEvents struct {
	dispatch *dispatch.Dispatcher
	ring     *events.Ring
	log      *slog.Logger
	groups   []*events.Members // by group, each of the goroutine that follows it
}

func newClusterEvents(self string, d *dispatch.Dispatcher, ring *events.Ring, log *slog.Logger) *clusterEvents {
	c := &clusterEvents{dispatch: d, ring: ring, log: log}
	for group := range d.Memberships() {
		c.groups = append(c.groups, events.NewMembers(group, self))
	}
	return c
}

// run follows the masters until ctx is done.
func (c *clusterEvents) run(ctx context.Context) {
	var all sync.WaitGroup
	for group, source := range c.dispatch.Memberships() {
		changed := make(chan *wire.Membership)
		all.Go(func() { c.follow(ctx, source, changed) })
		all.Go(func() { c.watch(ctx, group, changed) })
	}
	all.Wait()
}

// follow passes a group's memberships on.
func (c *clusterEvents) follow(ctx context.Context, source wire.MembershipSource, changed chan<- *wire.Membership) {
	membership.NewFollower(membership.FollowerOptions{
		Source: source, Margin: membershipMargin,
		Apply: func(ctx context.Context, m *wire.Membership) bool {
			select {
			case changed <- m:
			case <-ctx.Done():
			}
			return true
		},
		Failed: func(err error, _ int) {
			c.log.Debug("a master did not answer with its membership, of which events are made", "error", err)
		},
	}).Run(ctx)
}

// watch makes events from a group's memberships.
func (c *clusterEvents) watch(ctx context.Context, group int, changed <-chan *wire.Membership) {
	m := c.groups[group]
	look := time.NewTimer(time.Hour)
	defer look.Stop()
	for {
		select {
		case v := <-changed:
			for _, e := range m.Apply(v, time.Now()) {
				c.ring.Publish(e)
			}
		case <-look.C:
		case <-ctx.Done():
			return
		}
		look.Reset(c.ask(ctx, group))
	}
}

// ask asks the master what happened to nodes that left or drain, if there are any. It returns the
// time after which it is to be called again.
func (c *clusterEvents) ask(ctx context.Context, group int) time.Duration {
	m := c.groups[group]
	gone, next := m.Gone(time.Now())
	draining := m.Draining()
	again := time.Hour
	if !next.IsZero() {
		again = time.Until(next)
	}
	if len(gone)+len(draining) == 0 {
		return again
	}
	state := c.dispatch.StateOf(ctx, group)
	for _, name := range gone {
		last := nodeIn(state.Departed, name)
		if n := m.Node(name); last == nil && m.Unreturned(name) && state.Epoch > 0 && nodeIn(state.Nodes, name) == nil {
			c.dispatch.NodeLost(group, &n)
		}
		c.ring.Publish(m.Left(name, last))
	}
	for _, name := range m.Draining() {
		if n := nodeIn(state.Nodes, name); n != nil && n.State == api.StateDrained {
			c.ring.Publish(m.Drained(name))
		}
	}
	if len(m.Draining()) > 0 {
		again = min(again, drainsEvery)
	}
	return again
}

// nodeIn returns the node of that name, nil for none.
func nodeIn(list []api.Node, name string) *api.Node {
	for i := range list {
		if list[i].ID == name {
			return &list[i]
		}
	}
	return nil
}
