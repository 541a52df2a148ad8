package measure

import (
	"cmp"
	"slices"

	"github.com/pigeon-sched/pigeon/internal/workload"
)

const second = 1e-9 // of a nanosecond

// Job is one job that ended. Times are ns on one clock, as run (not
// multiplied back).
type Job struct {
	// Long is its true class.
	Long bool
	// Owner is the owner for which it ran.
	Owner string
	// Wide: its tasks take several slots, or start together.
	Wide bool
	// Failed jobs are counted only.
	Failed bool
	// Arrival and End are when the job reached the distributor and when its
	// last task was reported there.
	Arrival, End int64
	// LongestTask is the longest of its task durations.
	LongestTask int64
}

// Options of a Collector.
type Options struct {
	// Tolerance (ns, as run) is the time that a job may take beyond its longest task
	// and still count as unqueued, by class: simulated the messages of a job that
	// is alone in the cluster (3 delays for pigeon, 4 for sparrow) + 1 us, live
	// 10 ms.
	Tolerance [2]int64
	// Speedup multiplies all times back in the Result; 0 means 1.
	Speedup float64
}

// Collector gathers the times of a run's jobs and tasks. Memory: 32 bytes
// a job and 8 a task.
type Collector struct {
	options   Options
	classes   [2]samples
	owners    byOwner
	completed int
	failed    int
	first     int64 // arrival
	last      int64 // end
}

// samples holds the samples of one class.
type samples struct {
	completion []int64
	unit       []int64 // of the jobs that demand one slot a task
	longest    []int64
	slowdown   []float64
	queueing   []int64
	unqueued   int
}

// NewCollector returns an empty Collector.
func NewCollector(o Options) *Collector {
	o.Speedup = cmp.Or(o.Speedup, 1)
	return &Collector{options: o, owners: byOwner{}}
}

// Job adds a job that ended.
func (c *Collector) Job(j Job) {
	if c.completed+c.failed == 0 || j.Arrival < c.first {
		c.first = j.Arrival
	}
	c.last = max(c.last, j.End)
	if j.Failed {
		c.failed++
		return
	}
	c.completed++
	class := workload.Class(j.Long)
	s := &c.classes[class]
	took := j.End - j.Arrival
	s.completion = append(s.completion, took)
	if !j.Wide {
		s.unit = append(s.unit, took)
	}
	s.longest = append(s.longest, j.LongestTask)
	c.owners.add(j.Owner, class, took)
	if j.LongestTask > 0 {
		s.slowdown = append(s.slowdown, float64(took)/float64(j.LongestTask))
	}
	if took <= j.LongestTask+c.options.Tolerance[class] {
		s.unqueued++
	}
}

// Queued adds the queueing delay (ns) of one task of a job of a true class.
func (c *Collector) Queued(long bool, delay int64) {
	s := &c.classes[workload.Class(long)]
	s.queueing = append(s.queueing, delay)
}

// Result computes the figures of all that was added so far. More may be added
// after it.
func (c *Collector) Result(f Facts) Result {
	short, long := &c.classes[0], &c.classes[1]
	unit := second * c.options.Speedup
	makespan := float64(c.last - c.first)
	r := Result{
		Mode: f.Mode, Policy: f.Policy, Trace: f.Trace, Seed: f.Seed,
		Workers: f.Workers, Groups: f.Groups, Jobs: f.Jobs, Tasks: f.Tasks, Load: Number(f.Load),
		Short: short.summary(unit), Long: long.summary(unit), All: join(short, long).summary(unit),
		Completed: c.completed, Failed: c.failed, Attempts: f.Attempts,
		MessagesPerTask:    Number(float64(f.Messages) / float64(f.Tasks)),
		SuspensionsPerTask: Number(float64(f.Suspensions) / float64(f.Tasks)),
		Utilization:        Number(float64(f.Busy) / (makespan * float64(f.Workers))),
		Makespan:           Number(makespan * unit),
		Wall:               Number(float64(f.Wall) * second),
		Events:             f.Events,
		Live:               f.Live,
		Partial:            f.Partial,
	}
	r.References.LongestTask = ByClass{Short: Describe(short.longest, unit), Long: Describe(long.longest, unit)}
	if r.Wide = f.Wide; r.Wide != nil {
		r.Wide.Held /= Number(makespan * float64(f.Workers))
		r.Wide.Unit = ByClass{Short: Describe(short.unit, unit), Long: Describe(long.unit, unit)}
	}
	c.owners.fill(&r, unit)
	if f.Shares != nil {
		f.Shares.fill(&r, unit)
	}
	return r
}

func (s *samples) summary(unit float64) Summary {
	jobs := len(s.completion)
	return Summary{
		Jobs:       jobs,
		Completion: Describe(s.completion, unit),
		Queueing:   Describe(s.queueing, unit),
		Slowdown:   Describe(s.slowdown, 1),
		Unqueued:   Number(float64(s.unqueued) / float64(jobs)),
	}
}

func join(a, b *samples) *samples {
	return &samples{
		completion: slices.Concat(a.completion, b.completion),
		slowdown:   slices.Concat(a.slowdown, b.slowdown),
		queueing:   slices.Concat(a.queueing, b.queueing),
		unqueued:   a.unqueued + b.unqueued,
	}
}
