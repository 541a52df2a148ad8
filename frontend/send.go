package frontend

import (
	"time"

	"github.com/pigeon-sched/pigeon/internal/addrmap"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// send queues a message of the core for who is to have it.
func (o *owner) send(a *sched.Action) {
	switch a.To.Role {
	case sched.Master:
		o.sendMaster(a)
	case sched.Worker:
		o.sendWorker(a)
	case sched.Distributor:
		o.sendFrontends(a)
	}
}

// sendMaster queues a message for a master, with the cargo of its tasks.
func (o *owner) sendMaster(a *sched.Action) {
	if int(a.To.ID) >= len(o.masters) {
		return
	}
	m := o.masters[a.To.ID]
	if m.incarnation == 0 {
		return // not registered there: MasterUp sends again what is still owed
	}
	it := wire.Item{From: o.self, To: addrmap.MasterRef(int(a.To.ID)), Msg: a.Msg}
	if a.Msg.Kind == sched.Tasks {
		o.load(&it, a.Msg.Count)
	}
	if len(m.pending) == 0 {
		o.dirty = append(o.dirty, m)
	}
	m.pending = append(m.pending, it)
}

// sendWorker queues a message for a worker, with the cargo of the task that is
// launched there. One for a worker that is not on the membership is dropped: the core
// hears of that, and then counts on nothing there.
func (o *owner) sendWorker(a *sched.Action) {
	to, ok := o.addrs.Ref(a.To)
	if !ok {
		return
	}
	it := wire.Item{From: o.self, To: to, Msg: a.Msg}
	j := o.jobs[a.Msg.Job]
	switch {
	case j == nil:
	case a.Msg.Kind == sched.Launch:
		o.load(&it, 1)
		o.spans.bound(j, &it)
	case a.Msg.Kind == sched.Probe:
		j.probes.sent++
		j.probes.heard = time.Now()
	}
	o.peers.links.Queue(&it)
}

// sendFrontends queues a message for all other frontends.
func (o *owner) sendFrontends(a *sched.Action) {
	copies := 0
	for name := range o.peers.others { // each has a way of its own: their order means nothing
		if o.peers.links.Queue(&wire.Item{From: o.self, To: frontendRef(name), Msg: a.Msg}) {
			copies++
		}
	}
	o.steps.Spread(&a.Msg, copies)
}

// load puts the cargo of so many tasks beside a message, from its first on.
func (o *owner) load(it *wire.Item, count int32) {
	j := o.jobs[it.Msg.Job]
	it.JobName, it.User = j.status.Job, j.sub.Request.User
	it.OwnerAddress, it.SchedulerAddress = o.internal, o.scheduler
	it.Trace = j.trace.carrier
	it.Payloads, it.TaskIDs = j.cargo(it.Msg.First, count)
}
