package dispatch

import (
	"github.com/pigeon-sched/pigeon/internal/membership/protocol"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// Unknown returns an error if the sender of a batch is not on the membership yet, and
// requests a new membership at once. It may be called from anywhere.
func (d *Dispatcher) Unknown(b *wire.Batch) error {
	if !d.opts.Policy.SingleMaster() || b.Sender.Role == sched.Master || d.peers.sessions.Status(b.Sender, b.Incarnation) != protocol.Unknown {
		return nil
	}
	d.follower.RefreshNow()
	return notMember(b.Sender, d.opts.Self.Name)
}

// Deliver steps the messages of another daemon.
func (d *Dispatcher) Deliver(b *wire.Batch) {
	switch b.Sender.Role {
	case sched.Master:
		d.masters.deliver(b)
	case sched.Worker, sched.Distributor:
		d.deliverPeer(b)
	}
}

// deliverPeer steps the messages of a node or of another frontend. Messages
// of a process that has left since, and of slots without a number, are ignored.
func (d *Dispatcher) deliverPeer(b *wire.Batch) {
	if d.peers.sessions.Status(b.Sender, b.Incarnation) != protocol.Current {
		d.opts.Metrics.ignored.Inc()
		return
	}
	for i := range b.Items {
		it := &b.Items[i]
		from := d.opts.Addrs.Addr(it.From)
		if from.Role != b.Sender.Role || !sends(from.Role, it.Msg.Kind) {
			d.opts.Metrics.ignored.Inc()
			continue
		}
		d.reservations.received(&it.Msg)
		d.stepFrom(from, &it.Msg)
	}
}

// Superseded reports whether another process of a node is on the membership.
func (d *Dispatcher) Superseded(node string, incarnation int64) bool {
	return d.opts.Policy.SingleMaster() && d.peers.sessions.Status(nodeRef(node), incarnation) == protocol.Superseded
}

// StepHeldSomewhere steps that attempts are held by a node that is not known.
func (d *Dispatcher) StepHeldSomewhere(held []sched.AttemptID) {
	d.Step(&sched.Message{Kind: sched.Held, Kept: held})
}

// StepHeld steps what a slot of a node holds. Where workers have numbers, a slot without one
// was removed, and what it held is at no worker.
func (d *Dispatcher) StepHeld(node string, slot int32, held []sched.AttemptID) {
	ref := wire.Ref{Role: sched.Worker, Name: node, Slot: slot}
	if at, numbered := d.opts.Addrs.Find(ref); numbered && d.opts.Policy.SingleMaster() {
		d.stepFrom(at, &sched.Message{Kind: sched.Held, Kept: held})
		return
	}
	d.StepHeldSomewhere(held)
}

// sends reports whether a core of the role sends messages of the kind to a distributor
// directly.
func sends(r sched.Role, k sched.Kind) bool {
	switch k {
	case sched.GetTask, sched.ProbeRejected, sched.Refused:
		return r == sched.Worker
	case sched.LoadShare:
		return r == sched.Distributor
	default:
		return false
	}
}
