package experiment

import (
	"github.com/pigeon-sched/pigeon/internal/measure"
	"github.com/pigeon-sched/pigeon/internal/workload"
)

// Unknown is the queueing delay of a task that did not start, or whose delay was not
// measured.
const Unknown = -1

// Outcome is the outcome of a run, simulated or live. Times are ns as run.
type Outcome struct {
	// Jobs are those of the workload, in its order.
	Jobs []Job
	// Queueing holds the delay of every task from its job's arrival to its
	// start, the tasks of all jobs one after another.
	Queueing []int64
	// Attempts, Messages, Suspensions, Busy, Wall, Events, Partial and Live
	// count; the rest is filled in from the run.
	Facts measure.Facts
	// Tolerance is the time that a job may take beyond its longest task and still count
	// as unqueued, by class: short, long.
	Tolerance [2]int64
	// Sent counts the messages of a simulated run by the role that sent them.
	Sent [4]uint64
}

// Job is the outcome of one job.
type Job struct {
	Arrival, End int64 // at its frontend, on one clock
	Ended        bool
	Failed       bool
}

// NewOutcome returns the outcome of a run in which nothing has happened yet.
func NewOutcome(w *workload.Workload) *Outcome {
	o := &Outcome{Jobs: make([]Job, len(w.Jobs)), Queueing: make([]int64, w.Tasks())}
	for i := range o.Queueing {
		o.Queueing[i] = Unknown
	}
	return o
}

// Result returns the object that the run prints. w is the workload as run; jobs count in their
// true class, times are multiplied back by the speedup.
func (r *Run) Result(w *workload.Workload, o *Outcome) measure.Result {
	d := r.Description
	c := measure.NewCollector(measure.Options{Tolerance: o.Tolerance, Speedup: d.Speedup()})
	task := 0
	for i := range w.Jobs {
		job, got := &w.Jobs[i], &o.Jobs[i]
		if got.Ended {
			c.Job(measure.Job{Long: job.TrueLong, Owner: job.Owner, Wide: !job.IsUnit(), Failed: got.Failed, Arrival: got.Arrival, End: got.End, LongestTask: job.Longest()})
		}
		for range job.Durations {
			if delay := o.Queueing[task]; delay != Unknown && got.Ended && !got.Failed {
				c.Queued(job.TrueLong, delay)
			}
			task++
		}
	}
	f := o.Facts
	f.Policy, f.Trace, f.Seed = r.Policy, w.Name, r.Seed
	f.Workers, f.Groups, f.Jobs, f.Tasks = d.Workers(), len(d.Groups), len(w.Jobs), task
	f.Load = w.Load(f.Workers)
	if f.Load == 0 { // all jobs arrive at once: no load can be stated
		f.Load = float64(measure.Missing())
	}
	result := c.Result(f)
	if f.Live != nil && f.Messages == 0 {
		result.MessagesPerTask = measure.Missing() // of a running cluster, whose daemons are not read
	}
	return result
}

// Completions returns the completion times of the jobs that completed, in seconds
// of the workload's own time, by true class and in the order of the workload.
func (r *Run) Completions(w *workload.Workload, o *Outcome) (short, long []float64) {
	unit := 1e-9 * r.Description.Speedup()
	for i := range w.Jobs {
		got := &o.Jobs[i]
		if !got.Ended || got.Failed {
			continue
		}
		seconds := float64(got.End-got.Arrival) * unit
		if w.Jobs[i].TrueLong {
			long = append(long, seconds)
		} else {
			short = append(short, seconds)
		}
	}
	return short, long
}
