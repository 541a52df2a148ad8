package master

import (
	"fmt"

	"github.com/pigeon-sched/pigeon/internal/membership/protocol"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// hello registers a peer by its role. After an error the peer should try again.
func (o *owner) hello(h *wire.Hello) (wire.HelloReply, error) {
	if h.Group != o.cfg.Group {
		return o.helloReply(fmt.Sprintf("this is the master of group %d, and %s is configured for group %d; correct its group or its master's address", o.cfg.Group, h.Sender, h.Group)), nil
	}
	switch h.Sender.Role {
	case sched.Worker:
		o.raiseEpoch(h)
		a, err := o.nodes.Hello(h)
		if err != nil {
			return wire.HelloReply{}, err
		}
		r := o.helloReply(a.Problem)
		r.Numbers = a.Numbers
		return r, nil
	case sched.Distributor:
		o.raiseEpoch(h)
		if o.policy.SingleMaster() {
			o.nodes.ReserveNumbers(h.Highest)
		}
		return o.helloReply(o.frontends.hello(h)), nil
	case sched.Master:
		return o.helloReply(o.siblings.hello(h)), nil
	default:
		return o.helloReply(fmt.Sprintf("a %s does not register with a master", h.Sender.Role)), nil
	}
}

// helloReply returns the answer to a hello: accepted, or refused for the problem.
func (o *owner) helloReply(problem string) wire.HelloReply {
	if problem != "" {
		o.log.Warn("hello refused", "error", problem)
	}
	return wire.HelloReply{
		Sender: o.self, Incarnation: o.incarnation, Epoch: o.epoch.Number, Group: o.cfg.Group,
		Serves: o.core.view.Serves(), Accepted: problem == "", Problem: problem,
	}
}

// raiseEpoch raises the epoch above that of an earlier master, as a peer reports it.
func (o *owner) raiseEpoch(h *wire.Hello) {
	if !o.epoch.Raise(o.incarnation, protocol.Epoch{Number: h.Epoch, Of: h.EpochOf}) {
		return
	}
	if h.Epoch > 0 {
		o.nodes.FollowsAnother()
	}
	o.core.StepShell(&sched.Message{Kind: sched.EpochIs, Epoch: o.epoch.Number})
}
