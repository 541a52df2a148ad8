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
