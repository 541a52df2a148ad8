package frontend

import (
	"context"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/membership/protocol"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// Deliver takes messages of a master, and under policies that bind tasks late of
// nodes and other frontends. A peer that is not on the membership yet is told to try again
// while the membership is asked for.
func (f *Frontend) Deliver(_ context.Context, b *wire.Batch) (wire.BatchReply, error) {
	return f.inbox.Accept(b, func(b *wire.Batch) (problem string, err error) {
		if f.owner.plan.rolled() && b.Sender.Role != sched.Master && f.owner.peers.sessions.Status(b.Sender, b.Incarnation) == protocol.Unknown {
			return "", f.unknown(b.Sender)
		}
		if err := f.post(func() { f.owner.take(b) }); err != nil {
			return "", f.door.Refusal(err, "taking messages of "+b.Sender.String())
		}
		return "", nil
	})
}

// unknown is the answer to a peer that is not on the membership.
func (f *Frontend) unknown(who wire.Ref) error {
	f.follower.RefreshNow()
	return &api.Error{Problem: api.Busy, What: "it is not on the membership that this frontend has", Subject: who.String(), Tried: "taking its messages at frontend " + f.cfg.ID,
		Next: "try again, the membership is being asked for; should that last, see whether its master has it: `pigeon nodes`", RetryAfter: 10 * time.Millisecond}
}

// take steps a peer's messages.
func (o *owner) take(b *wire.Batch) {
	switch b.Sender.Role {
	case sched.Master:
		o.takeMaster(b)
	case sched.Worker, sched.Distributor:
		o.takePeer(b)
	}
}

// maxEarly bounds the batches that are kept of a master whose answer to our hello
// was not read yet.
const maxEarly = 100

// takeMaster steps a master's messages. A master that has just registered this
// frontend may speak before the answer to the hello was read; what it says is kept
// until then. Batches of a master that was replaced are never stepped.
func (o *owner) takeMaster(b *wire.Batch) {
	from := o.addrs.Addr(b.Sender)
	if from.Role != sched.Master || int(from.ID) >= len(o.masters) {
		return // of no master of ours
	}
	if m := o.masters[from.ID]; m.incarnation != b.Incarnation {
		if len(m.early) < maxEarly {
			m.early = append(m.early, b)
		}
		return
	}
	for i := range b.Items {
		o.step(from, &b.Items[i].Msg)
	}
}

// takePeer steps the messages of a node or of another frontend. Those of a process
// that has gone since, and of slots without a number, mean nothing any more.
func (o *owner) takePeer(b *wire.Batch) {
	if o.peers.sessions.Status(b.Sender, b.Incarnation) != protocol.Current {
		o.meter.stale.Add(1)
		return
	}
	for i := range b.Items {
		it := &b.Items[i]
		from := o.addrOf(it.From)
		if from.Role != b.Sender.Role || !says(from.Role, it.Msg.Kind) {
			o.meter.stale.Add(1)
			continue
		}
		o.note(&it.Msg)
		o.step(from, &it.Msg)
	}
}

// addrOf returns the number of a node's slot or of a frontend; a worker that the membership
// does not name has none.
func (o *owner) addrOf(who wire.Ref) sched.Addr {
	if who.Role == sched.Worker && o.plan.rolled() {
		a, _ := o.addrs.Find(who)
		return a
	}
	return o.addrs.Addr(who)
}

// says returns what a core of the role says to a distributor in this way.
func says(r sched.Role, k sched.Kind) bool {
	switch k {
	case sched.GetTask, sched.ProbeRejected, sched.Refused:
		return r == sched.Worker
	case sched.LoadShare:
		return r == sched.Distributor
	default:
		return false
	}
}

// note counts what a worker says of its reservations, for explain.
func (o *owner) note(m *sched.Message) {
	j := o.jobs[m.Job]
	if j == nil {
		return
	}
	switch m.Kind {
	case sched.GetTask:
		j.probes.asked++
	case sched.ProbeRejected:
		j.probes.rejected++
	default:
		return
	}
	j.probes.heard = time.Now()
}
