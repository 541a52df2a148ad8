package master

import (
	"fmt"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// hello takes a peer in by its role. The error is worth another try.
func (o *owner) hello(h *wire.Hello) (wire.HelloReply, error) {
	if h.Group != o.cfg.Group {
		return o.welcome(fmt.Sprintf("this is the master of group %d, and %s is configured for group %d; correct its group or its master's address", o.cfg.Group, h.Sender, h.Group)), nil
	}
	switch h.Sender.Role {
	case sched.Worker:
		o.raiseEpoch(h)
		return o.helloNode(h)
	case sched.Distributor:
		o.raiseEpoch(h)
		if o.rules.numbered {
			o.numbers.heard(h.Highest, time.Now())
		}
		return o.helloFrontend(h), nil
	case sched.Master:
		return o.helloMaster(h), nil
	default:
		return o.welcome(fmt.Sprintf("a %s does not register with a master", h.Sender.Role)), nil
	}
}

// helloNode registers a node and its slots. The error is worth another try.
func (o *owner) helloNode(h *wire.Hello) (wire.HelloReply, error) {
	name := h.Sender.Name
	old := o.nodes[name]
	switch {
	case old == nil:
	case old.incarnation != h.Incarnation && old.address != h.Address && o.alive(old.ref, old.heard):
		return o.welcome(fmt.Sprintf("a node named %q at %s is registered in group %d and alive, so the node at %s was refused; give one of them another id",
			name, old.address, o.cfg.Group, h.Address)), nil
	case old.incarnation != h.Incarnation:
		o.loseNode(old, "its node monitor was restarted")
		old = nil
	}
	given, refusal, err := o.numbersFor(h)
	if err != nil || refusal != nil {
		return *refusal, err
	}
	if old != nil { // its earlier hello was taken, the answer was lost
		old.heard = time.Now()
		if o.rules.numbered {
			o.slotsUp(old, h, given) // snapshots do not number slots that came since
		}
		return o.welcomeWith(given), nil
	}
	n := &node{
		id: name, ref: wire.Ref{Role: sched.Worker, Name: name}, incarnation: h.Incarnation, address: h.Address, memory: h.Memory, host: h.Host,
		slots: map[int32]*slot{}, heard: time.Now(),
	}
	if err := o.meet(n.ref, n.address, n.incarnation); err != nil {
		return o.welcome(err.Error()), nil
	}
	n.up = o.links.Up(n.ref) // a node that reaches us is not always reached by us
	if o.rules.numbered && !n.up {
		return wire.HelloReply{}, unreachable(n)
	}
	o.nodes[name] = n
	o.rollChanged = true
	o.slotsUp(n, h, given)
	o.log.Info("node registered", "node", name, "address", h.Address, "slots", len(h.Slots))
	return o.welcomeWith(given), nil
}

// numbersFor settles the numbers of a node's slots, where workers have some. A
// refusal that carries numbers tells the node that it cannot go on as the process
// that it is: others have what it claims.
func (o *owner) numbersFor(h *wire.Hello) (given []int32, refusal *wire.HelloReply, err error) {
	if !o.rules.numbered {
		return nil, nil, nil
	}
	for i := range h.Slots {
		if h.Slots[i].Slot >= maxSlot {
			r := o.welcome(fmt.Sprintf("node %q has a slot of number %d; they are numbered from 0 to %d", h.Sender.Name, h.Slots[i].Slot, maxSlot-1))
			return nil, &r, nil
		}
	}
	given, conflicts, err := o.numbers.settle(h, time.Now())
	if err != nil {
		return nil, &wire.HelloReply{}, err
	}
	if len(conflicts) > 0 {
		r := o.welcome(fmt.Sprintf("node %q claims %d numbers of workers that other slots have by now, %d among them; start its node monitor again", h.Sender.Name, len(conflicts), conflicts[0]-1))
		r.Numbers = conflicts
		return nil, &r, nil
	}
	return given, nil, nil
}

func unreachable(n *node) error {
	return &api.Error{
		Problem: api.NotReady, What: "messages do not reach the node, so that nothing could be launched there", Subject: fmt.Sprintf("node %s at %s", n.id, n.address),
		Tried: "calling it back", Next: "let its internal_listen, or advertise, be an address that this master reaches",
	}
}

// alive reports whether a registered peer was heard of lately and can be reached, so
// that another one of its name is an impostor and not its successor.
func (o *owner) alive(peer wire.Ref, heard time.Time) bool {
	return time.Since(heard) < o.cfg.LostAfter && o.links.Up(peer)
}

// meet opens the way to a peer that has just registered, with nothing queued, so
// that it is known before anything is sent whether the peer can be reached.
func (o *owner) meet(peer wire.Ref, address string, incarnation int64) error {
	o.links.Add(peer, address, incarnation)
	return o.links.Open(peer)
}

// welcome answers a hello: taken, or refused for the problem.
func (o *owner) welcome(problem string) wire.HelloReply {
	if problem != "" {
		o.log.Warn("hello refused", "error", problem)
	}
	return wire.HelloReply{
		Sender: o.self, Incarnation: o.incarnation, Epoch: o.epoch, Group: o.cfg.Group,
		Serves: o.view.Serves(), Accepted: problem == "", Problem: problem,
	}
}

// welcomeWith takes a hello, with the numbers of the node's workers.
func (o *owner) welcomeWith(numbers []int32) wire.HelloReply {
	r := o.welcome("")
	r.Numbers = numbers
	return r
}

// raiseEpoch goes above an epoch that a peer of an earlier master reports. That may be
// the one that this master has taken already: from a peer that its predecessor, which
// did not live long, had not told of its own.
func (o *owner) raiseEpoch(h *wire.Hello) {
	if o.epoch > 0 && (h.Epoch < o.epoch || h.Epoch == o.epoch && h.EpochOf == o.incarnation) {
		return
	}
	if h.Epoch > 0 {
		o.numbers.followed(time.Now())
	}
	o.epoch = h.Epoch + 1
	o.stepShell(&sched.Message{Kind: sched.EpochIs, Epoch: o.epoch})
}
