package measure

import (
	"math"

	"github.com/pigeon-sched/pigeon/internal/workload"
)

// Clairvoyant returns, for each job of w, the completion time (ns) under the
// clairvoyant schedule of the reports: preemptive shortest remaining work over
// jobs, on all workers, without delays. It uses durations, which no policy
// has.
//
// At every moment the jobs are ordered by the work that is left in them; each
// in turn gets a worker for every unfinished task, until the workers run out.
// So at most one job, the marginal one, has some workers and not all it could
// use. A job that loses a worker suspends the task with the least left, one
// that gains a worker runs the task with the most left.
//
// The order changes at arrivals and ends of tasks, and when the marginal job,
// running on more workers than one ahead of it, catches up with it. Jobs that run
// on the same number of workers never change places, so one heap for each such
// number is enough: an event costs O(log n) and a look at the top of each heap, of
// which there are at most sqrt(2 workers).
func Clairvoyant(w *workload.Workload, workers int) []int64 {
	return ClairvoyantWatched(w, workers, nil)
}

// ScheduleWatcher sees the clairvoyant schedule.
type ScheduleWatcher interface {
	// Holds reports that from the instant at on the job with that index in the workload
	// has the given number of workers, and the given number of tasks that have never
	// run. Of several calls for one instant the last one counts; at never decreases.
	Holds(at int64, job, workers, unstarted int)
}

// ClairvoyantWatched is Clairvoyant with an observer, which may be nil.
func ClairvoyantWatched(w *workload.Workload, workers int, watcher ScheduleWatcher) []int64 {
	c := newClairvoyant(len(w.Jobs), workers)
	c.watcher = watcher
	next := 0
	for {
		arrival := int64(math.MaxInt64)
		if next < len(w.Jobs) {
			arrival = w.Jobs[next].Arrival
		}
		at := min(arrival, c.nextEnd(), c.nextCatchUp())
		if at == math.MaxInt64 {
			return c.took
		}
		c.now = at
		c.endTasks()
		for next < len(w.Jobs) && w.Jobs[next].Arrival == at {
			c.arrive(newRemaining(next, &w.Jobs[next]))
			next++
		}
		c.catchUp()
	}
}

// ClairvoyantTimes describes Clairvoyant by true class.
func ClairvoyantTimes(w *workload.Workload, workers int) *ByClass {
	var byClass [2][]int64
	for i, took := range Clairvoyant(w, workers) {
		c := w.Jobs[i].TrueClass()
		byClass[c] = append(byClass[c], took)
	}
	return &ByClass{Short: Describe(byClass[0], second), Long: Describe(byClass[1], second)}
}

type clairvoyant struct {
	now  int64
	free int
	took []int64

	watcher ScheduleWatcher // nil for none

	// Every unfinished job is in exactly one of: full[rate], when it runs on
	// rate workers, one for each of its tasks; marginal; waiting, when it has
	// no worker. While any job is marginal or waiting, no worker is free.
	full     []*heap[*remaining] // by number of workers; most work left first
	rates    []int               // those whose heap is not empty
	marginal *remaining
	waiting  *heap[*remaining] // least work left first

	// ending holds the jobs that have workers by the end of their next task.
	ending *heap[*remaining]
}

func newClairvoyant(jobs, workers int) *clairvoyant {
	return &clairvoyant{
		free: workers,
		took: make([]int64, jobs),
		full: make([]*heap[*remaining], workers+1),
		waiting: &heap[*remaining]{
			before: func(a, b *remaining) bool {
				return a.work < b.work || a.work == b.work && a.index < b.index
			},
			place: func(r *remaining, i int) { r.place = i },
		},
		ending: &heap[*remaining]{
			before: func(a, b *remaining) bool { return a.running.top() < b.running.top() },
			place:  func(r *remaining, i int) { r.ending = i },
		},
	}
}

// report calls the watcher with the present workers of a job.
func (c *clairvoyant) report(r *remaining) {
	if c.watcher != nil {
		c.watcher.Holds(c.now, r.index, r.rate(), r.unstarted)
	}
}

func (c *clairvoyant) nextEnd() int64 {
	if c.ending.len() == 0 {
		return math.MaxInt64
	}
	return c.ending.top().running.top()
}

// endTasks ends the tasks that end now and assigns their workers to others.
func (c *clairvoyant) endTasks() {
	for c.nextEnd() == c.now {
		r := c.ending.pop()
		c.leave(r)
		for r.running.len() > 0 && r.running.top() == c.now {
			r.running.pop()
			c.free++
		}
		if r.unfinished() == 0 {
			c.took[r.index] = c.now - r.arrival
			c.report(r)
			continue
		}
		c.enter(r)
	}
	for c.free > 0 {
		r := c.marginal
		if r == nil && c.waiting.len() > 0 {
			r = c.waiting.top()
		}
		if r == nil {
			return
		}
		c.leave(r)
		c.gain(r, c.free)
		c.enter(r)
	}
}

// arrive assigns to a new job the free workers, and then workers of jobs with more work
// left.
func (c *clairvoyant) arrive(r *remaining) {
	r.since = c.now
	c.gain(r, c.free)
	for r.rate() < r.unfinished() {
		victim := c.last()
		if victim == nil || victim.left(c.now) <= r.work {
			break
		}
		c.leave(victim)
		c.lose(victim, r.unfinished()-r.rate())
		c.enter(victim)
		c.gain(r, c.free)
	}
	c.enter(r)
}

// last is the job with the most work left among those that have workers.
func (c *clairvoyant) last() *remaining {
	if c.marginal != nil {
		return c.marginal
	}
	var last *remaining
	for _, rate := range c.rates {
		top := c.full[rate].top()
		if last == nil || top.left(c.now) > last.left(c.now) ||
			top.left(c.now) == last.left(c.now) && rate < last.rate() {
			last = top
		}
	}
	return last
}

// nextCatchUp is when the marginal job will have no more left than a job
// ahead of it that runs on fewer workers.
func (c *clairvoyant) nextCatchUp() int64 {
	next, _ := c.caught()
	return next
}

func (c *clairvoyant) caught() (at int64, ahead *remaining) {
	at = math.MaxInt64
	if c.marginal == nil {
		return at, nil
	}
	left, rate := c.marginal.left(c.now), c.marginal.rate()
	for _, slower := range c.rates {
		if slower >= rate {
			continue
		}
		top := c.full[slower].top()
		gap, closing := max(0, left-top.left(c.now)), int64(rate-slower)
		if t := c.now + (gap+closing-1)/closing; t < at {
			at, ahead = t, top
		}
	}
	return at, ahead
}

// catchUp moves workers to the marginal job from the jobs that it has caught up with.
// Each round moves workers to the job that runs on more of them, so it ends.
func (c *clairvoyant) catchUp() {
	for {
		at, ahead := c.caught()
		if at > c.now || ahead == nil {
			return
		}
		faster := c.marginal
		c.leave(faster)
		c.leave(ahead)
		c.lose(ahead, faster.unfinished()-faster.rate())
		c.enter(ahead)
		c.gain(faster, c.free)
		c.enter(faster)
	}
}
