package slots

import (
	"time"

	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// maySend reports whether a core of the role may send a worker messages of the kind. Its
// master may send any: cores ignore kinds that they do not use.
func maySend(by sched.Role, k sched.Kind) bool {
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

// Deliver steps a batch of messages of the master, or of a member.
func (s *Workers) Deliver(b *wire.Batch, at time.Time) {
	if b.Sender.Role == sched.Master && b.Epoch > s.epoch {
		s.epoch, s.epochOf = b.Epoch, b.Incarnation
	}
	for i := range b.Items {
		it := &b.Items[i]
		w, from, known := s.workers.at(it.To.Slot), s.cfg.Master, true
		if b.Sender.Role != sched.Master {
			from, known = s.cfg.Names.Find(it.From)
		}
		switch kind := it.Msg.Kind; {
		case !known || !maySend(b.Sender.Role, kind):
			s.cfg.Metrics.ignored.Inc()
		case (kind == sched.Launch || kind == sched.Preempt) && w == nil && from == s.cfg.Master:
			s.refuseMissing(it)
		case w == nil && kind == sched.Launch && from.Role == sched.Distributor:
			s.returnTask(0, it)
		case w == nil:
			s.cfg.Metrics.ignored.Inc()
		case s.handBack(w, from, it):
		default:
			s.deliver(w, from, it, at)
		}
	}
}

// deliver steps one message.
func (s *Workers) deliver(w *worker, from sched.Addr, it *wire.Item, at time.Time) {
	m := &it.Msg
	switch m.Kind {
	case sched.Launch, sched.Preempt:
		w.request.answeredBy(from, m)
		s.launch(w, from, it, at)
	case sched.Kill, sched.Yield:
		s.kill(w, from, m)
	case sched.NoTask:
		w.request.answeredBy(from, m)
		s.cores.step(w, from, m)
	default:
		s.cores.step(w, from, m)
	}
}
