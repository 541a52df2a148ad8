package eagle

import (
	"math"

	"github.com/pigeon-sched/pigeon/internal/policy/probing"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// order is the approximate shortest-remaining-work order with bounded delay.
type order struct{ slack float64 }

// next returns the entry to serve of a queue that is not empty.
func (o order) next(q *probing.Queue) int {
	head := q.At(0)
	if head.Class == sched.Long {
		return 0
	}
	best, least, slack := 0, remaining(head), o.left(head)
	for i := 1; i < q.Len() && slack > 0; i++ {
		e := q.At(i)
		if e.Estimate <= slack && remaining(e) < least {
			best, least = i, remaining(e)
			if e.Class == sched.Long {
				break
			}
		}
		if e.Class == sched.Short {
			slack = min(slack, o.left(e))
		}
	}
	return best
}

// took charges those ahead of the entry that was served.
func (order) took(q *probing.Queue, i int) {
	estimate := q.At(i).Estimate
	for k := range i {
		q.At(k).Delay += estimate
	}
}

// left is the delay that may still be imposed on an entry, at most what a Time can hold.
func (o order) left(e *probing.Entry) sched.Time {
	slack := float64(o.slack * float64(e.Estimate))
	if slack >= math.MaxInt64 {
		return math.MaxInt64 - e.Delay
	}
	return sched.Time(slack) - e.Delay
}

// remaining is the work that is left of an entry's job, at most what a Time can hold.
func remaining(e *probing.Entry) sched.Time {
	const most = math.MaxInt64
	if count := sched.Time(e.Count); count > 0 && e.Estimate > most/count {
		return most
	}
	return e.Estimate * sched.Time(e.Count)
}
