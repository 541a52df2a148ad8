package nodes

import (
	"fmt"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/membership"
	"github.com/pigeon-sched/pigeon/internal/membership/protocol"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// refusedFor is how long a refused node is shown after its last hello.
const refusedFor = 60 * sched.Second

// state returns the state of a registered node for users, and why it is not up.
func (n *node) state() (state, reason string) {
	switch {
	case n.stopping:
		return api.StateStopped, stoppedInOrder
	case !n.up:
		return api.StateUnreachable, n.problem
	case n.draining && len(n.slots)+n.present.Executors == 0:
		return api.StateDrained, n.whyDraining()
	case n.draining:
		return api.StateDraining, n.whyDraining()
	case len(n.slots) == 0:
		return api.StateUp, noSlots
	}
	return api.StateUp, ""
}

// noSlots is why nothing runs on a node that is up. Unmodified programs of the published protocols do
// not notice that their node monitor was restarted.
const noSlots = "it has no slots: its setting slots is 0, and no backend is registered; backends that were, before its node monitor was restarted, register again only when they are started again"

// whyDraining returns why the node takes nothing new, and what ends that. A node that was told to
// drain and whose node monitor stops then is stopping: the drain is shown again when it is back.
func (n *node) whyDraining() string {
	if n.stopsWhenEmpty {
		return "its node monitor is stopping; it takes nothing new, and what runs there ends"
	}
	if n.diskFault != "" {
		return "it takes tasks again by itself once this is over: " + n.diskFault
	}
	return "it was told to drain; it takes nothing until 'pigeon nodes resume' ends that, also when its node monitor is started again"
}

const stoppedInOrder = "its node monitor was stopped in order"

// stops records that a node monitor stops in order. The node stays registered, without
// slots, until it has been silent for long enough: reports of its last attempts are in
// transit, and followers of the membership must not take them for lost.
func (t *Nodes) stops(n *node) {
	if !n.stopping {
		n.stopping, n.since = true, t.cfg.Now()
	}
}

// depart records a node that is about to be removed, and why.
func (t *Nodes) depart(n *node, reason string) {
	x := protocol.Departure{Role: sched.Worker, Name: n.ref.Name, Address: n.address, Version: n.version, State: api.StateLost, Reason: reason, Since: t.cfg.Now()}
	switch {
	case n.stopping:
		x.State, x.Reason, x.Since = api.StateStopped, stoppedInOrder, n.since
		t.cfg.Log.Info("node stopped", "node", n.ref.Name, "address", n.address)
	case n.successor != nil:
		t.cfg.Log.Info("a node was started again and goes on with its attempts", "node", n.ref.Name, "address", n.address, "complete", n.successor.complete)
	default:
		if !n.up && n.problem != "" {
			x.Reason += ": " + n.problem
		}
		t.cfg.Log.Warn("node lost", "node", n.ref.Name, "address", n.address, "reason", x.Reason)
	}
	t.cfg.Departed.Record(x, t.cfg.Now())
}

// Refused records that the hello of a node was refused.
func (t *Nodes) Refused(h *wire.Hello, problem string) {
	now := t.cfg.Now()
	t.cfg.Departed.Record(protocol.Departure{
		Role: sched.Worker, Name: h.Sender.Name, Address: h.Address, Version: h.Version, State: api.StateLost, Reason: "its hello is refused: " + problem, Since: now, Until: now + refusedFor,
	}, now)
}

// Departed lists the nodes that are not registered any more, for users. Those of longer ago
// than after are forgotten.
func (t *Nodes) Departed(after time.Duration) []api.Node {
	now := t.cfg.Now()
	t.cfg.Departed.Expire(sched.Time(after), now)
	var list []api.Node
	for _, x := range t.cfg.Departed.All(sched.Worker) {
		list = append(list, membership.DepartedNode(&x, t.cfg.Group, now))
	}
	return list
}

// Registered reports whether a node is registered.
func (t *Nodes) Registered(name string) bool { return t.byName[name] != nil }

// Knows reports whether a node is registered, or is shown because it was.
func (t *Nodes) Knows(name string) bool {
	return t.Registered(name) || t.cfg.Departed.Has(sched.Worker, name)
}

// ForgetDeparted stops showing a node that is not registered any more. It reports whether
// there was one; the error says that the node is registered.
func (t *Nodes) ForgetDeparted(name string) (forgotten bool, err error) {
	n := t.byName[name]
	if n == nil {
		return t.cfg.Departed.Forget(sched.Worker, name, t.cfg.Now()), nil
	}
	state, _ := n.state()
	next := "stop its node monitor"
	if n.stopping {
		next = "try again"
	}
	return false, &api.Error{
		Problem: api.Invalid, What: fmt.Sprintf("the node is %s: group %d has it registered at %s", state, t.cfg.Group, n.address), Subject: fmt.Sprintf("node %q", name),
		Tried: "forgetting it; nothing was changed", Next: fmt.Sprintf("%s; %v after its last heartbeat the node can be forgotten", next, t.cfg.LostAfter),
	}
}
