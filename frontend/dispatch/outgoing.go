package dispatch

import (
	"github.com/pigeon-sched/pigeon/internal/addrmap"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// send queues a message of the core.
func (d *Dispatcher) send(a *sched.Action) {
	switch a.To.Role {
	case sched.Master:
		d.sendMaster(a)
	case sched.Worker:
		d.sendWorker(a)
	case sched.Distributor:
		d.sendFrontends(a)
	}
}

// sendMaster queues a message for a master, with the payloads of its tasks.
func (d *Dispatcher) sendMaster(a *sched.Action) {
	if int(a.To.ID) >= len(d.masters.list) {
		return
	}
	m := d.masters.list[a.To.ID]
	if m.incarnation == 0 {
		return // not registered there: MasterUp sends again what is still owed
	}
	it := wire.Item{From: d.opts.Self, To: addrmap.MasterRef(int(a.To.ID)), Msg: a.Msg}
	if a.Msg.Kind == sched.Tasks {
		it.Extra = d.payloads(&a.Msg, a.Msg.Count)
	}
	if len(m.pending) == 0 {
		d.masters.dirty = append(d.masters.dirty, m)
	}
	m.pending = append(m.pending, it)
}

// sendWorker queues a message for a worker, with the payloads of the task that is
// launched there. One for a worker that is not on the membership is dropped: the core
// learns of its absence by the next members.
func (d *Dispatcher) sendWorker(a *sched.Action) {
	to, ok := d.opts.Addrs.Ref(a.To)
	if !ok {
		return
	}
	it := wire.Item{From: d.opts.Self, To: to, Msg: a.Msg}
	switch a.Msg.Kind {
	case sched.Launch:
		it.Extra = d.payloads(&a.Msg, 1)
		it.Trace = d.opts.Jobs.Launching(&a.Msg, to)
	case sched.Probe:
		d.reservations.sent(a.Msg.Job)
	}
	d.peers.links.Queue(&it)
}

// sendFrontends queues a message for all other frontends.
func (d *Dispatcher) sendFrontends(a *sched.Action) {
	copies := 0
	for name := range d.peers.others { // each has a link of its own: their order means nothing
		if d.peers.links.Queue(&wire.Item{From: d.opts.Self, To: frontendRef(name), Msg: a.Msg}) {
			copies++
		}
	}
	d.steps.Spread(&a.Msg, copies)
}

// payloads returns what is sent beside a message that has count tasks, from its First on.
func (d *Dispatcher) payloads(m *sched.Message, count int32) wire.Extra {
	x := d.opts.Jobs.Payloads(m, count)
	x.OwnerAddress, x.SchedulerAddress = d.process.Internal, d.process.Scheduler
	return x
}
