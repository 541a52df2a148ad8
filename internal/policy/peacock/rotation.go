package peacock

import (
	"slices"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// rotation is a worker's part of the ring.
type rotation struct {
	successor   sched.Addr // zero: it is alone
	ticking     bool       // a timer is set
	number      uint64     // of the last batch sent
	sent        []batch    // not acknowledged yet
	predecessor sched.Addr // who sent the last batch
	heard       uint64     // its number
}

// batch is a message of probes that moved on.
type batch struct {
	to     sched.Addr
	number uint64
	probes []sched.Probed
}

// members learns the ring. What was on its way to a worker that is gone moves on
// again at the next tick.
func (w *Worker) members(m *sched.Message) {
	if m.More == nil {
		return
	}
	list := m.More.Members
	w.state.workers = max(1, int64(len(list)))
	w.rotation.successor = successor(w.cfg.Self, list)
	w.rotation.sent = slices.DeleteFunc(w.rotation.sent, func(b batch) bool {
		gone := !slices.ContainsFunc(list, func(o sched.Member) bool { return o.Worker == b.to })
		if gone {
			w.queue.marked = append(w.queue.marked, b.probes...)
		}
		return gone
	})
}

// successor gives the member after self, zero when there is no other or self is
// not in the ring.
func successor(self sched.Addr, list []sched.Member) sched.Addr {
	at := slices.IndexFunc(list, func(o sched.Member) bool { return o.Worker == self })
	if at < 0 || len(list) < 2 {
		return sched.Addr{}
	}
	return list[(at+1)%len(list)].Worker
}

// setTimer asks for the next tick while there is something to move.
func (w *Worker) setTimer(now sched.Time, out *sched.Actions) {
	r := &w.rotation
	if r.ticking || len(w.queue.marked) == 0 || r.successor == (sched.Addr{}) {
		return
	}
	r.ticking = true
	out.Timer((now/w.interval+1)*w.interval, 0)
}

// tick moves all marked probes to the successor in one message, which is kept
// until it is acknowledged.
func (w *Worker) tick(out *sched.Actions) {
	r := &w.rotation
	r.ticking = false
	if len(w.queue.marked) == 0 || r.successor == (sched.Addr{}) {
		return
	}
	r.number++
	b := batch{to: r.successor, number: r.number, probes: w.queue.marked}
	w.queue.marked = nil
	r.sent = append(r.sent, b)
	m := out.Send(b.to, sched.Rotated)
	m.Seq, m.More = b.number, &sched.More{Probes: b.probes, Load: w.state.load}
}

// rotated takes in what the predecessor sent, or, without probes, its successor's
// word that a batch has come.
func (w *Worker) rotated(now sched.Time, from sched.Addr, m *sched.Message, out *sched.Actions) {
	r := &w.rotation
	if from.Role != sched.Worker {
		return
	}
	if m.More == nil {
		r.sent = slices.DeleteFunc(r.sent, func(b batch) bool { return b.to == from && b.number == m.Seq })
		return
	}
	out.Send(from, sched.Rotated).Seq = m.Seq
	if r.predecessor == from && m.Seq <= r.heard {
		return // came twice
	}
	r.predecessor, r.heard = from, m.Seq
	w.hear(m)
	for i := range m.More.Probes {
		w.enqueue(now, m.More.Probes[i])
	}
	w.serve(now, out)
}
