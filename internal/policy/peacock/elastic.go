package peacock

import (
	"math"
	"slices"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// state is the most recent shared state that a worker knows.
type state struct {
	load    sched.Load // sums over all workers
	workers int64      // at least 1
}

// full reports whether a worker with that many probes, waiting and running, has the
// average number or more.
func (s state) full(probes int) bool { return int64(probes)*s.workers >= s.load.Queued }

// averageLoad is the work per worker.
func (s state) averageLoad() sched.Time { return saturated(s.load.Work) / sched.Time(s.workers) }

// elastic is the queue of a worker: probes that wait, in the order in which they
// are served, and probes that are marked to move on.
//
// Invariant: work is the sum of the estimates of the waiting probes.
type elastic struct {
	waiting []sched.Probed
	marked  []sched.Probed // in the order of marking
	work    sched.Time
	printed bool // line 21 is followed to the letter (Options.Printed)
}

// inSlot is what enqueue must know of the slot that the queue feeds.
type inSlot struct {
	busy bool
	left sched.Time // of its task
}

// deadline returns the instant until which a probe should be served.
func deadline(p *sched.Probed) sched.Time { return plus(p.Arrival, p.Threshold) }

// enqueue finds the place of a probe, or marks it, and then marks the probes that
// are too many (the paper's algorithm 1).
func (e *elastic) enqueue(now sched.Time, in inSlot, p sched.Probed, s state) {
	wait := plus(in.left, saturated(e.work))
	at := len(e.waiting)
	for at > 0 && passes(now, wait, &p, &e.waiting[at-1]) {
		at--
		wait -= e.waiting[at].Estimate
	}
	// Past the head it is first, whatever its deadline: it could not be served
	// sooner.
	if at > 0 && plus(now, wait) > deadline(&p) && now < deadline(&p) {
		e.marked = append(e.marked, p)
	} else {
		e.waiting = slices.Insert(e.waiting, at, p)
		e.work += p.Estimate
	}
	e.markSurplus(in, s)
}

// passes reports whether p, which would wait that long behind q, is served before q.
// Probes of one job have arrived together, also where their ways here have made their
// arrivals differ a little: else each would stop behind its like half of the time.
func passes(now, wait sched.Time, p, q *sched.Probed) bool {
	if p.Arrival >= q.Arrival || p.Job == q.Job { // lines 4 to 9
		return overtakes(now, p, q)
	}
	return q.Estimate > p.Estimate || plus(now, wait) > deadline(p) // lines 11 to 15
}

// overtakes reports whether a probe may pass one that arrived earlier. Whether that one
// is over its deadline, or would be, is one test, without the wait before both.
func overtakes(now sched.Time, later, earlier *sched.Probed) bool {
	return later.Estimate <= earlier.Estimate && plus(now, later.Estimate) <= deadline(earlier)
}

// markSurplus marks the last probes while the queue and its slot hold as many probes
// as the average worker, or the queue holds as much work. The work of a probe that
// waits alone does not mark it: no queue could hold one of the average load or more.
func (e *elastic) markSurplus(in inSlot, s state) {
	for len(e.waiting) > 0 && (e.tooLong(in, s) || e.tooMuch(s)) {
		last := len(e.waiting) - 1
		e.marked = append(e.marked, e.waiting[last])
		e.work -= e.waiting[last].Estimate
		e.waiting[last] = sched.Probed{}
		e.waiting = e.waiting[:last]
	}
}

// tooLong is the first condition of line 21. As printed it sets what waits here
// against an average that counts what runs as well.
func (e *elastic) tooLong(in inSlot, s state) bool {
	probes := len(e.waiting)
	if in.busy && !e.printed {
		probes++
	}
	return s.full(probes)
}

// tooMuch is the second.
func (e *elastic) tooMuch(s state) bool {
	return (len(e.waiting) > 1 || e.printed) && saturated(e.work) >= s.averageLoad()
}

// next removes and returns the probe that is served next: the head, or, when none waits,
// the first marked one.
func (e *elastic) next() (p sched.Probed, ok bool) {
	switch {
	case len(e.waiting) > 0:
		p = e.waiting[0]
		e.waiting = slices.Delete(e.waiting, 0, 1)
		e.work -= p.Estimate
	case len(e.marked) > 0:
		p = e.marked[0]
		e.marked = slices.Delete(e.marked, 0, 1)
	default:
		return p, false
	}
	return p, true
}

// plus adds two times, the second not negative, at most to the end of
// time.
func plus(a, b sched.Time) sched.Time {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// saturated reads a sum of times that are not negative. Sums are kept modulo 2^64,
// so that each subtraction matches its addition even when they are too large; a
// negative sum is too large.
func saturated(sum sched.Time) sched.Time {
	if sum < 0 {
		return math.MaxInt64
	}
	return sum
}
