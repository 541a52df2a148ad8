package master

import (
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// act carries out one action of the core.
func (o *owner) act(self sched.Addr, a *sched.Action) {
	switch a.Kind {
	case sched.Send:
		o.send(a)
	case sched.Timer:
		o.core.timers.Set(self, a.At, a.Token)
	case sched.Forget:
		o.payloads.Drop(a.Msg.Job)
	}
}

func (o *owner) send(a *sched.Action) {
	if a.To.ID == sched.Everyone {
		o.broadcast(a)
		return
	}
	ref, known := o.addrs.Ref(a.To)
	if !known || (a.To.Role == sched.Worker && !o.nodes.Has(a.To)) {
		return // the worker was lost
	}
	it := wire.Item{From: o.self, To: ref, Msg: a.Msg}
	if a.Msg.Kind == sched.Launch || a.Msg.Kind == sched.Preempt {
		o.addPayload(&it, ref)
	}
	o.links.Queue(&it)
}

// broadcast sends a message to every frontend; the frontends have separate queues,
// so their order does not matter.
func (o *owner) broadcast(a *sched.Action) {
	if a.To.Role != sched.Distributor {
		return
	}
	for _, ref := range o.frontends.refs() {
		o.links.Queue(&wire.Item{From: o.self, To: ref, Msg: a.Msg})
	}
	o.core.steps.Spread(&a.Msg, o.frontends.len())
}

// addPayload adds the task's data to a launch.
func (o *owner) addPayload(it *wire.Item, to wire.Ref) {
	extra, arrived := o.payloads.Of(it.Msg.AttemptID())
	if it.Extra = extra; o.payloads.Apart(it.Msg.AttemptID()) {
		it.Msg.Marks |= sched.Apart
	}
	if it.Msg.Owner == "" { // under a policy that knows none
		it.Msg.Owner = o.payloads.Owner(it.Msg.Job)
	}
	if it.Msg.App != "" {
		if it.Contended = o.core.view.Contended(it.Msg.App, it.Msg.Owner, it.Msg.Class); !it.Contended {
			o.leases.launched(&it.Msg)
		}
	}
	o.metrics.launched(it, arrived)
	o.spans.queued(it, to, arrived)
}
