package pigeon

import (
	"github.com/pigeon-sched/pigeon/internal/queue"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// backfilled is how many waiting jobs are looked at for a slot that a claim holds.
const backfilled = 8

// backfill gives a slot that claims hold a unit task that delays none of them; false when there is
// none.
func (x *wide) backfill(out *sched.Actions) bool {
	for _, w := range x.kept {
		if r := x.filler(w); r != nil {
			x.unkeep(w)
			x.launch(sched.Launch, w, x.next(r), out)
			return true
		}
	}
	return false
}

// filler returns a run whose first task may run on a slot that claims hold, nil when there is none
// among the next jobs.
func (x *wide) filler(w *worker) (found *queue.Run) {
	for _, c := range x.classOrder(w) {
		x.index.EachNext(w.service, c, backfilled, func(r *queue.Run) bool {
			if x.fits(w, c, r.Job.Estimate) {
				found = r
			}
			return found != nil
		})
		if found != nil {
			return found
		}
	}
	return nil
}

// fits reports whether a unit task of that estimate delays no claim that holds the slot.
func (x *wide) fits(w *worker, class sched.Class, estimate sched.Time) bool {
	for _, c := range x.claims {
		if c.wants(w) && !x.fitsBefore(c, class, estimate) {
			return false
		}
	}
	return true
}

// fitsBefore reports whether a task would end before the claim is expected to be full, by its
// estimate; a short one also fits while that cannot be within the cutoff. The expected end of a claim
// moves when tasks overrun their estimates: this bounds no claim's wait.
func (x *wide) fitsBefore(c *claim, class sched.Class, estimate sched.Time) bool {
	var full sched.Time
	if c.node == nil {
		full = x.gangFull(c)
	} else {
		full, _, _ = x.full(c.node, c.app(), c.class)
	}
	return class == sched.Short && full-x.now > x.cfg.Params.Cutoff ||
		estimate > 0 && x.now+estimate <= full
}
