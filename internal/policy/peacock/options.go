package peacock

import "github.com/pigeon-sched/pigeon/internal/sched"

// perCutoff is how many intervals there are in a cutoff, when no interval is
// given.
const perCutoff = 20

// interval returns the time between ticks.
func (o Options) interval(p sched.Params) sched.Time {
	if o.Interval > 0 {
		return o.Interval
	}
	return max(1, p.Cutoff/perCutoff)
}

// maxEstimate, 13 days, keeps the sums of estimates within an int64 for queues
// that a cluster can have.
const maxEstimate sched.Time = 1 << 50

// bounded puts an estimate into the range that the sums are made for.
func bounded(e sched.Time) sched.Time { return min(max(e, 1), maxEstimate) }
