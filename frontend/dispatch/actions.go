package dispatch

import (
	"github.com/pigeon-sched/pigeon/internal/addrmap"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// actions carries out the actions of the core.
type actions struct {
	*core
	masters      *masters
	peers        *peers
	reservations *reservations
}

// act carries out one action of the core.
func (o *actions) act(self sched.Addr, a *sched.Action) {
	switch a.Kind {
	case sched.Send:
		o.send(a)
	case sched.Timer:
		o.timers.Set(self, a.At, a.Token)
	case sched.Persist:
		if a.Msg.Kind == sched.JobEnded {
			o.reservations.remove(a.Msg.Job)
		}
		o.opts.Jobs.Persist(&a.Msg)
	}
}

// send queues a message of the core.
func (o *actions) send(a *sched.Action) {
	switch a.To.Role {
	case sched.Master:
		o.sendMaster(a)
	case sched.Worker:
		o.sendWorker(a)
	case sched.Distributor:
		o.sendFrontends(a)
	}
}

// sendMaster queues a message for a master, with the payloads of its tasks.
func (o *actions) sendMaster(a *sched.Action) {
	if int(a.To.ID) >= len(o.masters.list) {
		return
	}
	m := o.masters.list[a.To.ID]
	if m.incarnation == 0 {
		return // not registered there: after MasterUp the core resends what is owed
	}
	it := wire.Item{From: o.opts.Self, To: addrmap.MasterRef(int(a.To.ID)), Msg: a.Msg}
	if a.Msg.Kind == sched.Tasks {
		it.Extra = o.payloads(&it.Msg, a.Msg.Count)
	}
	if len(m.pending) == 0 {
		o.masters.dirty = append(o.masters.dirty, m)
	}
	m.pending = append(m.pending, it)
}

// sendWorker queues a message for a worker, with the payloads of the task that is
// launched there. A message for a worker that is not on the membership is dropped: the core
// learns of the loss from the next Members.
func (o *actions) sendWorker(a *sched.Action) {
	to, ok := o.opts.Addrs.Ref(a.To)
	if !ok {
		return
	}
	it := wire.Item{From: o.opts.Self, To: to, Msg: a.Msg}
	switch a.Msg.Kind {
	case sched.Launch:
		it.Extra = o.payloads(&it.Msg, 1)
		it.Trace = o.opts.Jobs.Launching(&a.Msg, to)
	case sched.Probe:
		o.reservations.sent(a.Msg.Job)
	}
	o.peers.links.Queue(&it)
}

// sendFrontends queues a message for all other frontends.
func (o *actions) sendFrontends(a *sched.Action) {
	copies := 0
	for name := range o.peers.others { // each has its own link, so the order does not matter
		if o.peers.links.Queue(&wire.Item{From: o.opts.Self, To: frontendRef(name), Msg: a.Msg}) {
			copies++
		}
	}
	o.steps.Spread(&a.Msg, copies)
}

// payloads returns what is sent with a message that has count tasks, from its First on.
// The message names the owner of its job also under policies that know none, so that nodes
// can show it.
func (o *actions) payloads(m *sched.Message, count int32) wire.Extra {
	if m.Owner == "" {
		m.Owner, m.Priority = o.opts.Jobs.Owner(m.Job)
	}
	x := o.opts.Jobs.Payloads(m, count)
	x.FrontendAddress, x.SchedulerAddress = o.process.Internal, o.process.Scheduler
	return x
}
