package pigeon

import (
	"github.com/pigeon-sched/pigeon/internal/queue"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

const (
	overdueCutoffs = 20 // of waiting, after which the guard serves a job first
	graceCutoffs   = 30 // added to every age in the order of the long queue
)

// estimate returns a job's estimate, or the cutoff if it has none. That of an undeclared
// job is learned.
func estimate(j *queue.Job, learned map[*queue.Job]*facts, cutoff sched.Time) sched.Time {
	switch {
	case undeclared(j):
		if f := learned[j]; f != nil && f.learned > 0 {
			return f.learned
		}
		return cutoff
	case j.Estimate > 0:
		return j.Estimate
	}
	return cutoff
}

// leastQueued is the order of the short queue: the job with the least estimated
// work still queued here first.
type leastQueued struct {
	cutoff sched.Time
	facts  map[*queue.Job]*facts
}

// Rank implements [queue.Order].
func (o leastQueued) Rank(j *queue.Job) float64 {
	return float64(float64(estimate(j, o.facts, o.cutoff)) * float64(j.QueuedAs(sched.Short)))
}

// Renew implements [queue.Order]: time changes nothing.
func (o leastQueued) Renew(sched.Time) bool { return false }

// fewestQueued is another order of the short queue: the job with the fewest tasks still
// queued here first, whatever their estimate.
type fewestQueued struct{}

// Rank implements [queue.Order].
func (fewestQueued) Rank(j *queue.Job) float64 { return float64(j.QueuedAs(sched.Short)) }

// Renew implements [queue.Order]: time changes nothing.
func (fewestQueued) Renew(sched.Time) bool { return false }

// aged is the order of the long queue: the smallest index first. The index is of
// the last renewal, once per cutoff, so that taking a task costs no scan.
type aged struct {
	live    *measure // as it is now
	measure measure  // as of the last renewal
	facts   map[*queue.Job]*facts
	at      sched.Time // of the last renewal
}

// Rank implements [queue.Order].
func (o *aged) Rank(j *queue.Job) float64 {
	e := estimate(j, o.facts, o.measure.cutoff)
	f := o.facts[j]
	return o.measure.of(e, o.measure.unfinished(f, j), o.at-f.arrival, e)
}

// Renew implements [queue.Order].
func (o *aged) Renew(now sched.Time) bool {
	if now-o.at < o.measure.cutoff {
		return false
	}
	o.at, o.measure = now, *o.live
	return true
}

// measure computes the index of long tasks; the smallest is served first:
//
//	e x u / (age + 30 cutoffs + 2 r)^aging
//
// of a job of estimate e with u unfinished tasks here. r is the
// estimated rest of one task. With an age at which jobs should end the index is
// [measure.bounded].
type measure struct {
	cutoff sched.Time
	aging  int
	due    sched.Time // 0: none
}

func (x measure) of(e sched.Time, unfinished float64, age, left sched.Time) float64 {
	if x.due > 0 {
		return x.bounded(e, unfinished, age, left)
	}
	cutoff := float64(x.cutoff)
	v := float64(float64(float64(e)/cutoff) * unfinished)
	scale := float64(age)/cutoff + graceCutoffs + float64(2*(float64(left)/cutoff))
	for range x.aging {
		v /= scale
	}
	return v
}

// unfinished counts the job's tasks here: queued, running and suspended.
func (x measure) unfinished(f *facts, j *queue.Job) float64 {
	if x.due > 0 {
		return f.undone(j)
	}
	return float64(j.Queued + j.Running + f.held)
}
