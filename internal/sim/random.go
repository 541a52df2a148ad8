package sim

import (
	"math/rand/v2"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// draws decides by chance what happens to messages and clocks.
type draws struct {
	random *rand.Rand
	kinds  Kinds      // the kinds of faults that may happen
	delay  sched.Time // of a message to which nothing happens
	healed bool       // the faults are over
	counts FaultCounts
}

// chance reports true once in n times, if the kind of fault is enabled.
func (dr *draws) chance(k Kinds, n int) bool {
	happens := !dr.healed && dr.kinds.Has(k) && dr.random.IntN(n) == 0
	if happens && k != Reorder { // of the delays only long ones count
		dr.counts.add(k)
	}
	return happens
}

// drawDelay draws how long a message is in flight.
func (dr *draws) drawDelay() sched.Time {
	d := dr.delay
	if dr.chance(Reorder, 1) {
		d += drawSpan(dr.random, 2*usualDelay)
		if dr.random.IntN(slowIn) == 0 {
			dr.counts.add(Reorder)
			d += drawSpan(dr.random, slowest)
		}
	}
	return d
}

// drawClock draws the clock of a process.
func (dr *draws) drawClock() clock {
	if !dr.kinds.Has(Drift) {
		return clock{}
	}
	return clock{start: drawSpan(dr.random, 100*sched.Second), ppm: sched.Time(dr.random.IntN(2001) - 1000)}
}

// drawSpan draws a time below d.
func drawSpan(r *rand.Rand, d sched.Time) sched.Time { return sched.Time(r.Int64N(int64(d))) }

// clock is the clock of one process.
type clock struct {
	start sched.Time // its reading at time 0
	ppm   sched.Time // its drift, in millionths
}

// read returns the time of the clock. It never goes back.
func (c clock) read(now sched.Time) sched.Time {
	return c.start + now + now/1_000_000*c.ppm + now%1_000_000*c.ppm/1_000_000
}

// instant returns the first instant at which the clock shows the given time.
func (c clock) instant(shown sched.Time) sched.Time {
	at := (shown - c.start) / (1_000_000 + c.ppm) * 1_000_000
	at = max(0, at-1_000_000)
	for c.read(at) < shown {
		at += max(1, (shown-c.read(at))/2)
	}
	return at
}
