package master

import (
	"fmt"
	"slices"

	"github.com/pigeon-sched/pigeon/internal/daemon"
	"github.com/pigeon-sched/pigeon/internal/membership/protocol"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// hello registers a peer by its role. After an error the peer should try again.
func (o *owner) hello(h *wire.Hello) (wire.HelloReply, error) {
	if r := o.checkHello(h); r.problem != "" {
		return o.helloReply(h, r), nil
	}
	switch h.Sender.Role {
	case sched.Worker:
		o.raiseEpoch(h)
		a, err := o.nodes.Hello(h)
		if err != nil {
			return wire.HelloReply{}, err
		}
		r := o.helloReply(h, refusal{a.Reason, a.Problem})
		r.Numbers, r.Registration = a.Numbers, a.Registration
		if r.Accepted {
			o.arrived(h.Sender)
		}
		return r, nil
	case sched.Distributor:
		if h.Stopping {
			return o.stopping(h), nil
		}
		o.raiseEpoch(h)
		if o.policy.SingleMaster() {
			o.nodes.ReserveNumbers(h.Highest)
		}
		r := o.helloReply(h, o.frontends.hello(h))
		if r.Accepted {
			o.absence.hello(h.Sender.Name, o.core.clock.Now())
			o.arrived(h.Sender)
			o.exchangeDepartures(h, &r)
		}
		r.Registration = o.frontends.registry.Registration(h.Sender.Name)
		if !o.nodes.AllKnow(daemon.LaunchSecrets) {
			r.Features = slices.DeleteFunc(slices.Clone(r.Features), func(f string) bool { return f == daemon.LaunchSecrets })
		}
		return r, nil
	case sched.Master:
		if o.follows && h.Sender.Daemon() == o.self {
			return o.helloReply(h, refusal{}), nil // a standby, which asks whether this process lives
		}
		return o.siblings.hello(h), nil
	default:
		return o.helloReply(h, refusal{refusedRole, fmt.Sprintf("%s does not register with a master", h.Sender)}), nil
	}
}

// stopping records the last hello of a frontend that stops in order. Its waiting tasks
// stay: it comes back, or is found silent.
func (o *owner) stopping(h *wire.Hello) wire.HelloReply {
	if o.frontends.registry.Registered(h.Sender.Name, h.Incarnation) {
		o.frontends.states.stops(h.Sender.Name)
		o.frontends.registry.Gone(h.Sender.Name, h.Incarnation) // its successor may serve elsewhere
	}
	return o.helloReply(h, refusal{})
}

// helloReply returns the answer to a hello: accepted, or refused.
func (o *owner) helloReply(h *wire.Hello, r refusal) wire.HelloReply {
	if r.problem != "" {
		o.refused(h, r)
		o.showRefused(h, r.problem)
	} else {
		o.refusals.Over(refusedAs(h))
	}
	return wire.HelloReply{
		Sender: o.self, Incarnation: o.incarnation, Epoch: o.epoch.Number, Group: o.cfg.Group,
		Serves: o.core.view.Serves(), Accepted: r.problem == "", Problem: r.problem, Version: o.version, Features: daemon.Features(),
	}
}

// raiseEpoch raises the epoch above that of an earlier master, as a peer reports it.
func (o *owner) raiseEpoch(h *wire.Hello) {
	raised := o.epoch.Raise(o.incarnation, protocol.Epoch{Number: h.Epoch, Of: h.EpochOf})
	if h.Epoch > 0 && (raised || o.follows && h.EpochOf != o.incarnation) {
		o.nodes.FollowsAnother()
	}
	if !raised {
		return
	}
	o.core.StepShell(&sched.Message{Kind: sched.EpochIs, Epoch: o.epoch.Number})
}
