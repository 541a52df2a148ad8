package nodemonitor

import (
	"time"

	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// said returns which messages a core of the role may say to a worker. Its master may
// say anything: cores ignore what is not for them.
func said(by sched.Role, k sched.Kind) bool {
	switch by {
	case sched.Master:
		return true
	case sched.Distributor:
		return k == sched.Probe || k == sched.CancelProbe || k == sched.Launch || k == sched.NoTask || k == sched.Kill
	case sched.Worker:
		return k == sched.Steal || k == sched.Stolen || k == sched.Rotated
	default:
		return false
	}
}

// delivered steps the messages of the master, or of a peer on the roll.
func (o *owner) delivered(b *wire.Batch, at time.Time) {
	if b.Sender.Role == sched.Master && b.Epoch > o.epoch {
		o.epoch, o.epochOf = b.Epoch, b.Incarnation
	}
	for i := range b.Items {
		it := &b.Items[i]
		w, from, known := o.worker(it.To.Slot), o.master, true
		if b.Sender.Role != sched.Master {
			from, known = o.addrs.Find(it.From)
		}
		switch kind := it.Msg.Kind; {
		case !known || !said(b.Sender.Role, kind):
			o.meter.ignored.Inc()
		case (kind == sched.Launch || kind == sched.Preempt) && w == nil && from == o.master:
			o.refuseMissing(it)
		case w == nil:
			o.meter.ignored.Inc()
		default:
			o.hear(w, from, it, at)
		}
	}
}

// hear gives a worker's core a message from outside.
func (o *owner) hear(w *worker, from sched.Addr, it *wire.Item, at time.Time) {
	m := &it.Msg
	switch m.Kind {
	case sched.Launch, sched.Preempt:
		w.answered(from, m)
		o.launch(w, from, it, at)
	case sched.Kill, sched.Yield:
		o.killed(w, from, m)
	case sched.NoTask:
		w.answered(from, m)
		o.step(w, from, m)
	default:
		o.step(w, from, m)
	}
}
