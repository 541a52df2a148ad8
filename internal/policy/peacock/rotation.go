package peacock

import (
	"math"
	"slices"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// rotation is a worker's part of the ring.
//
// Ticks are the multiples of the interval and are numbered by them; a batch bears
// the number of its tick. So probes move by one worker at each tick even where
// timers fire late or clocks differ a little: a batch of a tick that is still to
// fire here makes it fire first.
type rotation struct {
	successor   sched.Addr // zero: it is alone
	due         uint64     // the tick that a timer is set for, 0 for none
	number      uint64     // of the last tick
	sent        []batch    // not acknowledged yet
	predecessor sched.Addr // the sender of the last batch
	received    uint64     // its number
}

// batch is a message of probes that moved on at a tick.
type batch struct {
	to     sched.Addr
	number uint64
	probes []sched.Probed
}

// members records the ring. A batch in transit to a worker that has left moves on
// again at the next tick.
func (w *Worker) members(m *sched.Message) {
	if m.More == nil {
		return
	}
	list := m.More.Members
	w.state.workers = max(1, int64(len(list)))
	w.rotation.successor = successor(w.cfg.Self, list)
	w.rotation.sent = slices.DeleteFunc(w.rotation.sent, func(b batch) bool {
		left := !slices.ContainsFunc(list, func(o sched.Member) bool { return o.Worker == b.to })
		if left {
			w.queue.marked = append(w.queue.marked, b.probes...)
		}
		return left
	})
}

// successor returns the member after self, zero when there is no other or self is
// not in the ring.
func successor(self sched.Addr, list []sched.Member) sched.Addr {
	at := slices.IndexFunc(list, func(o sched.Member) bool { return o.Worker == self })
	if at < 0 || len(list) < 2 {
		return sched.Addr{}
	}
	return list[(at+1)%len(list)].Worker
}

// setTimer requests the next tick while there is something to move. A predecessor
// whose clock is ahead is followed by one tick, not by its hours.
func (w *Worker) setTimer(now sched.Time, out *sched.Actions) {
	r := &w.rotation
	if r.due > 0 || len(w.queue.marked) == 0 || r.successor == (sched.Addr{}) {
		return
	}
	past := uint64(now / w.interval) //nolint:gosec // never negative
	r.due = max(past, r.number, min(r.received, past+1)) + 1
	out.Timer(w.instant(r.due), r.due)
}

// maxMoved bounds the probes of one batch, as the wire does; further ones move at
// the next tick.
const maxMoved = 10_000

// tick moves all marked probes to the successor in one message, which is kept
// until it is acknowledged.
func (w *Worker) tick(now sched.Time, out *sched.Actions) {
	r := &w.rotation
	r.number, r.due = r.due, 0
	if len(w.queue.marked) == 0 || r.successor == (sched.Addr{}) {
		return
	}
	n := min(len(w.queue.marked), maxMoved)
	b := batch{to: r.successor, number: r.number, probes: w.queue.marked[:n:n]}
	w.queue.marked = w.queue.marked[n:]
	r.sent = append(r.sent, b)
	m := out.Send(b.to, sched.Rotated)
	m.Seq, m.Arrival, m.More = b.number, w.instant(b.number), &sched.More{Probes: b.probes, Load: w.state.load, Stamp: now - w.told}
}

// instant is when a tick is, by the clock here.
func (w *Worker) instant(tick uint64) sched.Time {
	return sched.Time(tick) * w.interval //nolint:gosec // a time
}

// maxLate bounds what late believes: clocks that are further apart are not kept.
const maxLate = sched.Second

// late is by how much the arrivals in a batch are too late. Arrivals go from
// daemon to daemon as ages, which do not grow while they are in transit; a probe
// that has moved on a thousand times would pass for younger by a thousand ways, and
// its deadline, which is that much later, would let short jobs overtake it and have
// it move on for longer. The batch carries the instant of its tick in the same form,
// and when that tick was is known here too.
func (w *Worker) late(m *sched.Message) sched.Time {
	if m.Arrival == 0 || m.Seq > math.MaxInt64/uint64(w.interval) { //nolint:gosec // at least 1
		return 0
	}
	late := m.Arrival - w.instant(m.Seq)
	if late < -maxLate || late > maxLate {
		return 0
	}
	return late
}

// rotated processes what the predecessor sent, or, without probes, its successor's
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
	if r.predecessor == from && m.Seq <= r.received {
		return // came twice
	}
	if r.due > 0 && r.due <= m.Seq {
		w.tick(now, out)
	}
	r.predecessor, r.received = from, m.Seq
	// The predecessor may not have heard of what this worker knows: states older than
	// this one's would go around the ring for as long as probes do.
	w.recordState(now-max(0, m.More.Stamp), m)
	late := w.late(m)
	for _, p := range m.More.Probes {
		p.Arrival -= late
		w.enqueue(now, p)
	}
	w.serve(now, out)
}
