package nodemonitor

import (
	"errors"

	"github.com/pigeon-sched/pigeon/internal/link"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// sender is a link to the master.
type sender interface {
	Send(items ...wire.Item) error
}

// links are the links to other daemons, by their names; a *linkset.Set is one.
type links interface {
	Add(peer wire.Ref, address string, incarnation int64)
	Remove(peer wire.Ref)
	Queue(it *wire.Item) bool
	Flush()
	Close() error
}

// publisher sends idle notices. An error means that nothing was sent; success does not
// mean that the receiver got it.
type publisher interface {
	Idle(b *wire.Batch) error // to the receiver, a master
}

// send puts a core's message on its way, after the batch.
func (o *owner) send(w *worker, act *sched.Action) {
	m := &act.Msg
	switch {
	case m.Kind == sched.Report:
		o.reported(w, act.To, m)
	case m.Kind == sched.Refused:
		o.refused(w, act.To, m)
	case act.To.Role != sched.Master:
		o.tell(w, act.To, m)
	case m.Kind == sched.Idle && o.rules.sequenced:
		o.idle(w, m)
	default:
		o.toMaster(w, m)
	}
}

// toMaster has a message go to the master by Thrift, in order.
func (o *owner) toMaster(w *worker, m *sched.Message) {
	o.forMaster = append(o.forMaster, wire.Item{From: w.ref, To: o.masterRef, Msg: *m})
}

// idle tells the master that the slot is free: by a notice, or by Thrift behind
// the refusal that it belongs to. After a refusal of the shell's the slot is held
// back, or the master would offer the same task again at once.
func (o *owner) idle(w *worker, m *sched.Message) {
	it := wire.Item{From: w.ref, To: o.masterRef, Msg: *m}
	switch {
	case o.stopping:
	case w.refusal != "":
		w.heldBack = true
	case w.refused || o.notices == nil:
		o.forMaster = append(o.forMaster, it)
	default:
		o.idles = append(o.idles, it)
	}
}

// tell has a message go to a frontend or another worker, in order. One to a worker
// of this node is stepped at the end of the batch.
func (o *owner) tell(w *worker, to sched.Addr, m *sched.Message) {
	if o.stopping {
		return // nobody waits for this node any more
	}
	if m.Kind == sched.GetTask {
		o.ask(w, to, m)
	}
	o.convey(w, to, m)
}

// convey queues a message for where its receiver is. A question to nobody is given
// up.
func (o *owner) convey(w *worker, to sched.Addr, m *sched.Message) {
	if there := o.bySelf[to]; there != nil {
		o.local = append(o.local, local{to: there, from: w.self, msg: *m})
		return
	}
	ref, known := o.addrs.Ref(to)
	if known && o.links != nil && o.links.Queue(&wire.Item{From: w.ref, To: ref, Msg: *m}) {
		return
	}
	o.meter.unreachable.Inc()
	if m.Kind == sched.GetTask {
		o.giveUp(w)
	}
}

// maxAttempts bounds the attempts at a node, under policies that have long work wait
// at its workers: a hello names them all.
const maxAttempts = 10_000

// local is a message of one worker of this node to another, or of the shell to its
// core, that is stepped at the end of the batch.
type local struct {
	to   *worker
	from sched.Addr
	msg  sched.Message
}

// converse steps what the workers of this node have said to each other, until they
// are silent.
func (o *owner) converse() {
	for len(o.local) > 0 {
		list := o.local
		o.local = nil
		for i := range list {
			if l := &list[i]; l.to.core != nil {
				o.step(l.to, l.from, &l.msg)
			}
		}
	}
}

// flush sends what the batch decided: reports before idle notices, so that a node
// that dies in between has rather told a result than asked for work.
func (o *owner) flush() {
	o.converse()
	if o.full {
		o.release()
	}
	o.results.Flush()
	o.tellIdle()
	o.sendMaster()
	if o.links != nil {
		o.links.Flush()
	}
	o.crowded.Store(!o.results.HasRoom(o.attempts) || o.attempts >= maxAttempts)
	o.meter.publish()
}

// sendMaster sends what goes by Thrift. What a full link does not take is sent
// with a later batch; what was meant for a master that is gone means nothing to
// its successor, which is told everything when this node registers.
func (o *owner) sendMaster() {
	if len(o.forMaster) == 0 {
		return
	}
	err := o.toLink.Send(o.forMaster...)
	if err != nil && !errors.Is(err, link.ErrStale) && !errors.Is(err, link.ErrClosed) {
		return
	}
	clear(o.forMaster)
	o.forMaster = o.forMaster[:0]
}

// tellIdle publishes the idle notices of a batch as one message.
func (o *owner) tellIdle() {
	if len(o.idles) == 0 {
		return
	}
	b := o.batch(o.masterRef, o.idles)
	if err := o.notices.Idle(b); err != nil {
		o.meter.unpublished.Add(float64(len(o.idles)))
		o.forMaster = append(o.forMaster, o.idles...)
	}
	o.meter.idles.Add(float64(len(o.idles)))
	clear(o.idles)
	o.idles = o.idles[:0]
}

// batch puts items into an envelope.
func (o *owner) batch(to wire.Ref, items []wire.Item) *wire.Batch {
	return &wire.Batch{
		Sender: o.self, Receiver: to.Daemon(), Address: o.address, Incarnation: o.incarnation, Items: items,
	}
}
