package frontend

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/nearest"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/client"
	"github.com/pigeon-sched/pigeon/thrift/server"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// DrainNode makes a node take nothing new. The answer names the applications whose tasks no
// other node can run now.
func (srv *schedulerService) DrainNode(ctx context.Context, node string, o api.DrainOrder) (api.NodeDrain, error) {
	return srv.drain(ctx, node, wire.DrainOrder{Deadline: o.Deadline, Kill: o.Kill}, "draining it")
}

// ResumeNode ends the drain of a node.
func (srv *schedulerService) ResumeNode(ctx context.Context, node string) (api.NodeDrain, error) {
	return srv.drain(ctx, node, wire.DrainOrder{Resume: true}, "resuming it")
}

// drain finds the node and passes it the order.
func (srv *schedulerService) drain(ctx context.Context, name string, o wire.DrainOrder, tried string) (api.NodeDrain, error) {
	server.Concerns(ctx, "node "+name)
	states := srv.owner.dispatch.MasterStates(ctx)
	n := findNode(states, name)
	if n == nil {
		return api.NodeDrain{}, unknownNode(states, name, tried)
	}
	if n.Gone() {
		return api.NodeDrain{}, nodeStopped(n, name, tried)
	}
	pool, err := client.New(client.Options{Name: "node " + name, Address: n.Address, MaxConns: 1, MaxFrame: wire.MaxBatchBytes, Security: srv.to(nodeRef(name))})
	if err != nil {
		return api.NodeDrain{}, err
	}
	defer func() { _ = pool.Close() }()
	ctx, cancel := context.WithTimeout(ctx, drainTimeout)
	defer cancel()
	r, err := wire.NewPeerClient(pool, srv.codec).Drain(ctx, o)
	if err != nil {
		return api.NodeDrain{}, err
	}
	d := api.NodeDrain{Node: name, Group: n.Group, State: r.State, Running: r.Running, Results: r.Results, Reason: r.Reason}
	if !o.Resume {
		d.Only = servedOnlyBy(srv.awaitShown(ctx, states, name), n)
	}
	srv.nodeEvent(ctx, api.EventNodeOrdered, name, drainOrdered(o))
	return d, nil
}

// awaitShown returns the states of the groups as soon as the node's master has heard that it
// drains: a user who drains several nodes one after another learns at the last of them what
// no other node can run. It waits for at most drainShown.
func (srv *schedulerService) awaitShown(ctx context.Context, states []api.MasterState, name string) []api.MasterState {
	ctx, cancel := context.WithTimeout(ctx, drainShown)
	defer cancel()
	tick := time.NewTicker(drainShownPoll)
	defer tick.Stop()
	for {
		now := srv.owner.dispatch.MasterStates(ctx)
		switch n := findNode(now, name); {
		case ctx.Err() != nil:
			return states
		case n != nil && n.State != api.StateUp:
			return now
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return states
		}
	}
}

// drainOrdered describes the order that a node received.
func drainOrdered(o wire.DrainOrder) string {
	switch {
	case o.Resume:
		return "was told to take tasks again"
	case o.Kill:
		return "was told to drain, and to give back what runs there"
	case o.Deadline > 0:
		return fmt.Sprintf("was told to drain, and to give back what still runs there after %v", o.Deadline)
	}
	return "was told to drain"
}

// nodeRef returns a node monitor by its name.
func nodeRef(name string) wire.Ref { return wire.Ref{Role: sched.Worker, Name: name} }

// drainTimeout bounds the call to the node.
const drainTimeout = 5 * time.Second

// A master hears of a drain within milliseconds, unless it cannot be reached.
const (
	drainShown     = time.Second
	drainShownPoll = 10 * time.Millisecond
)

// findNode returns the node of that name, nil when no master has it.
func findNode(states []api.MasterState, name string) *api.Node {
	for i := range states {
		for _, list := range [][]api.Node{states[i].Nodes, states[i].Departed} {
			for k := range list {
				if list[k].ID == name {
					return &list[k]
				}
			}
		}
	}
	return nil
}

// unknownNode is the error about a name that no master has.
func unknownNode(states []api.MasterState, name, tried string) error {
	var names, silent []string
	for i := range states {
		if states[i].Epoch == 0 {
			silent = append(silent, strconv.Itoa(states[i].Group))
		}
		for k := range states[i].Nodes {
			names = append(names, states[i].Nodes[k].ID)
		}
	}
	e := noSuchNode(name, tried)
	if len(silent) > 0 { // which may have it: another node's name would mislead
		e.Problem, e.What = api.NotReady, fmt.Sprintf("no master that answers has a node of this name, and those of some groups do not answer: %s", strings.Join(silent, ", "))
		e.Next = "try again when they answer; `pigeon nodes --groups` shows the masters"
	} else if near := nearest.Close(name, names); near != "" {
		e.What += fmt.Sprintf("; did you mean %q?", near)
	}
	return e
}

// servedOnlyBy returns the applications that this node serves and no other node that is up,
// "" for the tasks of the built-in backends.
func servedOnlyBy(states []api.MasterState, n *api.Node) (only []string) {
	elsewhere := map[string]bool{}
	for i := range states {
		for k := range states[i].Nodes {
			if o := &states[i].Nodes[k]; o.ID != n.ID && o.Up && (o.State == "" || o.State == api.StateUp) {
				for _, app := range o.Apps {
					elsewhere[app] = true
				}
			}
		}
	}
	for _, app := range n.Apps {
		if !elsewhere[app] && !holdsSlots(app) {
			only = append(only, app)
		}
	}
	slices.Sort(only)
	return slices.Compact(only)
}

// holdsSlots reports whether the name stands for the slots that an executor of an
// application waits for: APPLICATION/NUMBER.
func holdsSlots(app string) bool {
	at := strings.LastIndexByte(app, '/')
	_, err := strconv.Atoi(app[at+1:])
	return at > 0 && err == nil
}

// drainSentences name the nodes that take nothing new, for explanations of what waits.
func drainSentences(states []api.MasterState) (why []string) {
	for i := range states {
		for k := range states[i].Nodes {
			if n := &states[i].Nodes[k]; n.State == api.StateDraining || n.State == api.StateDrained {
				why = append(why, fmt.Sprintf("Node %s is %s: %s.", n.ID, n.State, n.Reason))
			}
		}
	}
	return why
}
