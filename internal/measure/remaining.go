package measure

import (
	"cmp"
	"slices"

	"github.com/pigeon-sched/pigeon/internal/workload"
)

// remaining is the unfinished part of a job in the clairvoyant schedule.
type remaining struct {
	index   int
	arrival int64
	// work is the work left in all its tasks at time since; since then it has
	// decreased by one for each worker and ns.
	work, since int64
	running     heap[int64] // ends of the tasks that run, earliest first
	suspended   heap[rest]  // the others, most left first
	unstarted   int         // of these, how many have never run
	place       int         // in the heap of waiting or of its rate
	ending      int         // in clairvoyant.ending, -1 when not there
}

// rest is the unfinished part of a task that does not run.
type rest struct {
	left    int64
	started bool
}

func newRemaining(index int, job *workload.Job) *remaining {
	r := &remaining{index: index, arrival: job.Arrival, work: job.Work(), place: -1, ending: -1}
	r.running.before = func(a, b int64) bool { return a < b }
	r.suspended.before = func(a, b rest) bool { return a.left > b.left }
	for _, d := range job.Durations { // of a task of several slots each is one
		for range job.Width() {
			r.suspended.items = append(r.suspended.items, rest{left: d})
		}
	}
	slices.SortFunc(r.suspended.items, func(a, b rest) int { return cmp.Compare(b.left, a.left) }) // sorted is a heap
	r.unstarted = r.suspended.len()
	return r
}

// rate is the number of workers it has.
func (r *remaining) rate() int { return r.running.len() }

func (r *remaining) unfinished() int { return r.running.len() + r.suspended.len() }

// left is the work left at now >= since.
func (r *remaining) left(now int64) int64 {
	return r.work - int64(r.rate())*(now-r.since)
}

// moreWork orders jobs of one rate by work left; the answer is the same at any
// time that both reach.
func moreWork(a, b *remaining) bool {
	now := max(a.since, b.since)
	left, other := a.left(now), b.left(now)
	return left > other || left == other && a.index > b.index
}

// leave removes a job from its set, before its number of workers changes.
func (c *clairvoyant) leave(r *remaining) {
	r.work, r.since = r.left(c.now), c.now
	switch {
	case r == c.marginal:
		c.marginal = nil
	case r.rate() == 0:
		c.waiting.remove(r.place)
	default:
		rate := r.rate()
		c.full[rate].remove(r.place)
		if c.full[rate].len() == 0 {
			k := slices.Index(c.rates, rate)
			c.rates = slices.Delete(c.rates, k, k+1)
		}
	}
}

// enter puts a job into the set that matches its workers, and into ending.
func (c *clairvoyant) enter(r *remaining) {
	c.report(r)
	rate := r.rate()
	switch {
	case rate == 0:
		c.waiting.push(r)
	case rate < r.unfinished():
		c.marginal = r
	default:
		if c.full[rate] == nil {
			c.full[rate] = &heap[*remaining]{before: moreWork, place: c.waiting.place}
		}
		if c.full[rate].len() == 0 {
			c.rates = append(c.rates, rate)
		}
		c.full[rate].push(r)
	}
	switch {
	case rate == 0 && r.ending >= 0:
		c.ending.remove(r.ending)
	case rate > 0 && r.ending >= 0:
		c.ending.fix(r.ending)
	case rate > 0:
		c.ending.push(r)
	}
}

// gain starts its longest suspended tasks on up to n free workers.
func (c *clairvoyant) gain(r *remaining, n int) {
	for n = min(n, c.free, r.suspended.len()); n > 0; n-- {
		task := r.suspended.pop()
		if !task.started {
			r.unstarted--
		}
		r.running.push(c.now + task.left)
		c.free--
	}
}

// lose suspends up to n of its running tasks, those with the least left.
func (c *clairvoyant) lose(r *remaining, n int) {
	for n = min(n, r.rate()); n > 0; n-- {
		r.suspended.push(rest{r.running.pop() - c.now, true})
		c.free++
	}
}
