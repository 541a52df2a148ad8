package peacock

import (
	"math"
	"slices"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// state is the shared state that a worker received last.
type state struct {
	load    sched.Load // sums over all workers
	workers int64      // at least 1
}

// minLength is the least average queue length: without it the queues of a
// cluster with little to do would hold nothing.
const minLength = 2

// tooLong reports whether a queue of that many probes is not below the average. The
// average counts running tasks.
func (s state) tooLong(length int) bool {
	return int64(length)*s.workers >= max(s.load.Queued, minLength*s.workers)
}

// averageLoad is the work per worker.
func (s state) averageLoad() sched.Time { return saturated(s.load.Work) / sched.Time(s.workers) }

// elastic is the queue of a worker: probes that wait, in the order in which they
// are served, and probes that are marked to move on.
//
// Invariants: work is the sum of the estimates of the waiting probes; whenever a
// probe is marked, another one waits.
type elastic struct {
	waiting []sched.Probed
	marked  []sched.Probed // in the order of marking
	work    sched.Time
}

// deadline returns the instant by which a probe should be served.
func deadline(p *sched.Probed) sched.Time { return plus(p.Arrival, p.Threshold) }

// enqueue finds the place of a probe, or marks it, and then marks the probes that
// are too many (the paper's algorithm 1). running is the remaining time of the task
// in the slot.
func (e *elastic) enqueue(now, running sched.Time, p sched.Probed, s state) {
	wait := plus(running, saturated(e.work))
	at := len(e.waiting)
	for at > 0 && passes(now, &p, &e.waiting[at-1]) {
		at--
		wait -= e.waiting[at].Estimate
	}
	// Past the head it is first, whatever its deadline: it could not be served
	// sooner.
	if at > 0 && plus(now, wait) > deadline(&p) && now <= deadline(&p) {
		e.marked = append(e.marked, p)
	} else {
		e.waiting = slices.Insert(e.waiting, at, p)
		e.work += p.Estimate
	}
	e.markSurplus(s)
}

// passes reports whether p is served before q, its neighbour. The later of the two
// is served before the earlier one if it is not longer and the earlier one could still
// wait for it within its deadline. Probes of one job have arrived together, also
// where their ways here have made their arrivals differ a little: else each would
// stop behind its like half of the time.
func passes(now sched.Time, p, q *sched.Probed) bool {
	if p.Arrival >= q.Arrival || p.Job == q.Job {
		return overtakes(now, p, q)
	}
	return !overtakes(now, q, p)
}

// overtakes reports whether a probe may pass one that arrived earlier. Whether that one
// is over its deadline, or would be, is one test, without the wait before both.
func overtakes(now sched.Time, later, earlier *sched.Probed) bool {
	return later.Estimate <= earlier.Estimate && plus(now, later.Estimate) <= deadline(earlier)
}

// markSurplus marks the last probes while the queue is longer, or holds more
// work, than the average worker's. The last waiting probe is never marked: the
// worker would turn idle, and short jobs take 2.8 times as long.
func (e *elastic) markSurplus(s state) {
	for len(e.waiting) > 1 && (s.tooLong(len(e.waiting)) || saturated(e.work) >= s.averageLoad()) {
		last := len(e.waiting) - 1
		e.marked = append(e.marked, e.waiting[last])
		e.work -= e.waiting[last].Estimate
		e.waiting[last] = sched.Probed{}
		e.waiting = e.waiting[:last]
	}
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

// plus adds two times, the second of which is not negative, at most to the end of
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
