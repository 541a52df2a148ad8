package experiment

import (
	"cmp"
	"context"
	"io"
	"strconv"
	"time"

	"github.com/pigeon-sched/pigeon/internal/measure"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/internal/sim"
	"github.com/pigeon-sched/pigeon/internal/workload"
)

// SimOptions are the settings that exist only in simulation.
type SimOptions struct {
	Delay   time.Duration    // of a message, one way
	Losses  sim.MasterLosses // masters that die
	History io.Writer        // of every task's life, nil for none
	Actions io.Writer        // of the cores, as text, nil for none
	// Observer and Inspector follow the run; nil for none.
	Observer  sim.Observer
	Inspector sim.Inspector
}

// Simulate runs the cores in virtual time. w is the result of r.Workload.
func (r *Run) Simulate(ctx context.Context, w *workload.Workload, o SimOptions) (*Outcome, error) {
	began := time.Now()
	cfg := r.Cluster(o.Delay)
	cfg.Actions, cfg.Losses, cfg.Inspector = o.Actions, o.Losses, o.Inspector
	var life *life
	var watching observers
	if o.History != nil {
		life = newLife(w, o.History)
		watching = append(watching, life)
	}
	use := r.newUse(w)
	if use != nil {
		watching = append(watching, use)
	}
	if o.Observer != nil {
		watching = append(watching, o.Observer)
	}
	if len(watching) > 0 {
		cfg.Observer = watching
	}
	got, err := sim.Run(ctx, w.Simulated(), cfg)
	if err == nil && life != nil {
		err = life.end()
	}
	if err != nil {
		return nil, err
	}
	out := simulated(w, got)
	out.Facts.Wide = r.wideResult(w, got, out.Queueing)
	if use != nil {
		out.Facts.Shares = use.Shares
	}
	out.Facts.Wall = time.Since(began).Nanoseconds()
	out.Tolerance, err = r.tolerance(ctx, o.Delay)
	return out, err
}

// Cluster returns the simulated cluster of the run.
func (r *Run) Cluster(delay time.Duration) sim.Config {
	return sim.Config{
		Policy: r.Cores, Params: r.Params, Groups: r.Description.Groups, NodeSlots: r.Description.NodeSlots, Frontends: r.Description.Frontends,
		Delay: sched.Time(delay), Seed: r.Seed, Shares: r.Description.Shares, HalfLife: r.Description.halfLife(), Learned: r.Description.Learned,
	}
}

// SimulateFaults runs the cores in a cluster to which faults happen. When a check is
// violated, it returns a smaller run that violates one too: its faults, and how many of
// the first jobs it needs, as [workload.Options] counts them. w is the result of r.Workload.
func (r *Run) SimulateFaults(ctx context.Context, w *workload.Workload, delay time.Duration, f sim.Faults) (report *sim.Report, smaller sim.Faults, jobs int, err error) {
	if err := r.CheckLive(); err != nil {
		return nil, f, 0, err
	}
	if r.Cores.Name == "pigeon" { // the variants and the rivals serve in other orders
		f.Weight = r.Params.Weight
	}
	cfg := r.Cluster(delay)
	jobs = cmp.Or(r.Description.Workload.Jobs, len(r.raw.Jobs))
	report, err = sim.RunWithFaults(ctx, w.Simulated(), cfg, f)
	if err != nil || report.Violated() == nil {
		return report, f, jobs, err
	}
	jobs, smaller = sim.Shrink(ctx, r.firstJobs, jobs, cfg, f)
	return report, smaller, jobs, nil
}

// firstJobs returns the jobs of the run with another number of first jobs, nil when it has no
// workload then.
func (r *Run) firstJobs(count int) []sim.Job {
	d, run := *r.Description, *r
	d.Workload.Jobs, run.Description = count, &d
	w, err := run.Workload()
	if err != nil {
		return nil // such as one job, which cannot be scaled to a load
	}
	return w.Simulated()
}

func simulated(w *workload.Workload, got *sim.Outcome) *Outcome {
	out := NewOutcome(w)
	task := 0
	for i := range w.Jobs {
		job := &got.Jobs[i]
		arrival := w.Jobs[i].Arrival
		// The simulator counts failed jobs without their numbers: no workload
		// has a task that fails.
		out.Jobs[i] = Job{Arrival: arrival, End: arrival + int64(job.Completion), Ended: job.Ended}
		for range w.Jobs[i].Durations {
			if start := int64(got.Starts[task]); start >= 0 {
				out.Queueing[task] = start - arrival
			}
			task++
		}
	}
	out.Facts = measure.Facts{
		Mode: "sim", Attempts: int64(got.Attempts), Messages: int64(got.Messages), Suspensions: int64(got.Suspensions), //nolint:gosec // counts
		Busy: int64(got.Busy), Events: int64(got.Events), //nolint:gosec // counts
	}
	out.Sent = got.Sent
	return out
}

// life writes the events of every task.
type life struct {
	w    *workload.Workload
	out  *measure.HistoryWriter
	keys []string
	err  error
}

func newLife(w *workload.Workload, dst io.Writer) *life {
	l := &life{w: w, out: measure.NewHistoryWriter(dst), keys: make([]string, len(w.Jobs))}
	for i := range w.Jobs {
		l.keys[i] = strconv.Itoa(w.Jobs[i].Line)
	}
	return l
}

// Event implements sim.Observer.
func (l *life) Event(at sched.Time, job int, task, attempt int32, what string, where sched.Addr) {
	if l.err == nil {
		l.err = l.out.Add(measure.Event{Time: int64(at), Job: l.keys[job], Task: int(task), Attempt: int(attempt), Event: what, Where: where.String()})
	}
}

func (l *life) end() error {
	if l.err == nil {
		l.err = l.out.Flush()
	}
	return l.err
}
