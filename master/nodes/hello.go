package nodes

import (
	"fmt"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/membership/protocol"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// maxSlot bounds the slots of a node: lists are made by slot.
const maxSlot = 1 << 16

// The reasons of refused hellos, as metrics label them.
const (
	RefusedName     = "name"     // another daemon has the name and is alive
	RefusedReplaced = "replaced" // a later process of the name is registered
	RefusedSlots    = "slots"    // a slot's number is out of range
	RefusedNumbers  = "numbers"  // other slots have the numbers that it claims
	RefusedAddress  = "address"  // its address cannot be called
)

// Answer is the answer to a hello.
type Answer struct {
	Reason  string // of a refusal, one of the above
	Problem string // why the node was refused, "" when it was accepted
	// Numbers are those of the slots, plus one. With a refusal they are the claims that
	// other slots have: this process of the node cannot register.
	Numbers []int32
	// Registration is another number after each time that the node was not registered.
	Registration int64
}

// Hello registers a node and its slots. After an error the node should try again.
func (t *Nodes) Hello(h *wire.Hello) (Answer, error) {
	name, now := h.Sender.Name, t.cfg.Now()
	old := t.byName[name]
	verdict := t.registry.Classify(name, h.Incarnation, h.Address, sched.Time(t.cfg.LostAfter), now, old != nil && t.cfg.Links.Up(old.ref))
	if old != nil && continues(h, old.incarnation) {
		verdict, old.successor = protocol.Restarted, newSuccessor(h)
	}
	switch verdict {
	case protocol.Conflict:
		return Answer{Reason: RefusedName, Problem: fmt.Sprintf("a node named %q at %s is registered in group %d and alive, so the node at %s was refused; give one of them another id",
			name, old.address, t.cfg.Group, h.Address)}, nil
	case protocol.Replaced:
		return Answer{Reason: RefusedReplaced, Problem: fmt.Sprintf("a later process of node %q is registered in group %d, at %s, so the hello of its earlier process was refused; if both run, give one of them another id",
			name, t.cfg.Group, old.address)}, nil
	case protocol.Restarted:
		t.lose(old, old.incarnation != h.Incarnation, "its node monitor was restarted")
	}
	a, err := t.number(h)
	if err != nil || a.Problem != "" {
		return a, err
	}
	if verdict == protocol.Renewed { // its earlier hello was accepted, the answer was lost
		t.registry.Enter(name, h.Incarnation, h.Address, now)
		if old.isNews(h.Sequence) {
			old.present = h.Present
			t.setDraining(old, h.Draining, h.StopsWhenEmpty, h.DiskFault)
			if t.cfg.Policy.SingleMaster() {
				t.addSlots(old, h, a.Numbers) // snapshots do not number slots that came since
			}
		}
		a.Registration = t.registry.Registration(name)
		return a, nil
	}
	return t.register(h, a)
}

// register enters a process that is not registered.
func (t *Nodes) register(h *wire.Hello, a Answer) (Answer, error) {
	t.numbers.Ended(h.Sender.Name, h.Incarnation)
	t.lives++
	n := &node{
		life: t.lives, ref: wire.Ref{Role: sched.Worker, Name: h.Sender.Name}, incarnation: h.Incarnation, address: h.Address, memory: h.Memory, host: h.Host,
		version: h.Version, features: h.Features, since: t.cfg.Now(), draining: h.Draining, stopsWhenEmpty: h.StopsWhenEmpty, diskFault: h.DiskFault, present: h.Present,
		slots: map[int32]*slot{}, sequence: h.Sequence,
	}
	// The link is opened before anything is sent, to find out whether the node can be
	// reached: messages may pass in the other direction only.
	t.cfg.Links.Add(n.ref, n.address, n.incarnation)
	if err := t.cfg.Links.Open(n.ref); err != nil {
		t.numbers.ReleaseAll(n.ref.Name, n.incarnation, false, t.cfg.Now())
		return Answer{Reason: RefusedAddress, Problem: err.Error()}, nil //nolint:nilerr // a refusal: another try would not help
	}
	n.up = t.cfg.Links.Up(n.ref)
	if t.cfg.Policy.SingleMaster() && !n.up {
		t.numbers.ReleaseAll(n.ref.Name, n.incarnation, false, t.cfg.Now())
		return Answer{}, &api.Error{
			Problem: api.NotReady, What: "messages do not reach the node, so that nothing could be launched there", Subject: fmt.Sprintf("node %s at %s", n.ref.Name, n.address),
			Tried: "calling it back", Next: "set its internal_listen, or advertise, to an address that this master can reach",
		}
	}
	t.byName[n.ref.Name] = n
	t.cfg.Departed.Forget(sched.Worker, n.ref.Name, t.cfg.Now())
	t.registry.Enter(n.ref.Name, n.incarnation, n.address, t.cfg.Now())
	t.cfg.Changed()
	t.addSlots(n, h, a.Numbers)
	t.cfg.Log.Info("node registered", "node", n.ref.Name, "address", n.address, "slots", len(h.Slots), "version", h.Version)
	a.Registration = t.registry.Registration(n.ref.Name)
	return a, nil
}

// number assigns the slots of a hello their workers' numbers, under policies that number workers.
func (t *Nodes) number(h *wire.Hello) (Answer, error) {
	if !t.cfg.Policy.SingleMaster() {
		return Answer{}, nil
	}
	claims := make([]protocol.Claim, len(h.Slots))
	for i := range h.Slots {
		if h.Slots[i].Slot >= maxSlot {
			return Answer{Reason: RefusedSlots, Problem: fmt.Sprintf("node %q has a slot of number %d; they are numbered from 0 to %d", h.Sender.Name, h.Slots[i].Slot, maxSlot-1)}, nil
		}
		claims[i] = protocol.Claim{Slot: h.Slots[i].Slot, Number: h.Slots[i].Number}
	}
	t.numbers.Reserve(h.Highest, t.cfg.Now())
	if h.Epoch > 0 {
		t.losePresumed(h.Sender.Name, claims)
	}
	a := t.numbers.Assign(h.Sender.Name, h.Incarnation, claims, t.cfg.Now())
	if len(a.Conflicts) > 0 {
		return Answer{Reason: RefusedNumbers, Numbers: a.Conflicts, Problem: fmt.Sprintf("node %q claims %s; start its node monitor again", h.Sender.Name, taken(a.Conflicts))}, nil
	}
	return Answer{Numbers: a.Numbers}, numberless(h, &a)
}

// taken describes numbers, each plus one, that a node claims and other slots have.
func taken(conflicts []int32) string {
	if len(conflicts) == 1 {
		return fmt.Sprintf("1 number of a worker that another slot has by now, %d", conflicts[0]-1)
	}
	return fmt.Sprintf("%d numbers of workers that other slots have by now, %d among them", len(conflicts), conflicts[0]-1)
}

// losePresumed removes the nodes whose numbers a living node claims from an earlier master.
// They were started a moment ago and registered first, when this master took itself for the
// first one. Their node monitors say hello again, are refused with the numbers, and end.
func (t *Nodes) losePresumed(name string, claims []protocol.Claim) {
	for _, holder := range t.numbers.Presumed(name, claims, t.cfg.Now()) {
		if n := t.byName[holder]; n != nil {
			t.lose(n, false, fmt.Sprintf("node %s has the numbers of its workers from an earlier master", name))
			t.numbers.Void(holder)
		}
	}
}
