package replay

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/pigeon-sched/pigeon/internal/experiment"
	"github.com/pigeon-sched/pigeon/internal/measure"
	"github.com/pigeon-sched/pigeon/internal/workload"
)

// Tolerance is the time that a live job may take beyond its longest task and still count
// as unqueued.
const Tolerance = 10 * time.Millisecond

// Options describe where to replay.
type Options struct {
	// Frontends are host:port, in the order of their numbers.
	Frontends []string
	// Progress, if set, is called a few times a second.
	Progress func(Progress)
	// Failed, if set, ends the replay with the error that it receives.
	Failed <-chan error
}

// Progress is how far a replay is.
type Progress struct {
	Jobs, Submitted, Ended int
	Elapsed                time.Duration
	// Left is the time to the end as far as it is known: that of the last
	// arrival, or of the last task that runs.
	Left time.Duration
}

// Late is how far behind its due time a job may be submitted before Lateness
// is reported.
const Late = 100 * time.Millisecond

// Replayed is the outcome of a replay.
type Replayed struct {
	Outcome *experiment.Outcome
	Began   time.Time
	// Lateness is the most that a job was submitted after it was due.
	Lateness time.Duration
}

// replay is a replay in progress.
type replay struct {
	work    *workload.Workload
	targets []*target
	pad     string // keeps the keys of a second replay on one cluster apart
	began   time.Time
	failed  chan error // the first counts

	mu        sync.Mutex
	out       *experiment.Outcome
	submitted int
	ended     int
	attempts  int64
	lastDue   time.Time // when the last task known of ends, were nothing queued
	lateness  time.Duration
	all       chan struct{} // closed when every job has ended
}

// Run replays the workload, in its own time. When ctx ends before the workload
// does, the outcome is partial and not an error.
func Run(ctx context.Context, w *workload.Workload, o Options) (*Replayed, error) {
	if len(o.Frontends) == 0 || len(w.Jobs) == 0 {
		return nil, errors.New("a replay needs a frontend and a job")
	}
	r := &replay{work: w, failed: make(chan error, 1), all: make(chan struct{}), out: experiment.NewOutcome(w)}
	defer r.disconnect()
	if err := r.connect(o.Frontends); err != nil {
		return nil, err
	}
	if err := r.findFreshKeys(ctx); err != nil {
		return nil, err
	}
	r.began = time.Now()
	err := r.run(ctx, o)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.out.Tolerance = [2]int64{Tolerance.Nanoseconds(), Tolerance.Nanoseconds()}
	r.out.Facts.Mode, r.out.Facts.Attempts, r.out.Facts.Partial = "live", r.attempts, r.ended < len(w.Jobs)
	r.out.Facts.Wall = time.Since(r.began).Nanoseconds()
	r.out.Facts.Busy = r.workDone()
	return &Replayed{Outcome: r.out, Began: r.began, Lateness: r.lateness}, nil
}

// run does the work and waits for its end.
func (r *replay) run(ctx context.Context, o Options) (err error) {
	ctx, stop := context.WithCancel(ctx)
	var all sync.WaitGroup
	defer all.Wait()
	defer stop() // before the wait
	for _, t := range r.targets {
		for range watchersPerFrontend {
			all.Go(func() { r.watch(ctx, t) })
		}
	}
	all.Go(func() { r.generate(ctx, &all) })
	tick := time.NewTicker(time.Second / 4)
	defer tick.Stop()
	for {
		select {
		case <-r.all:
			return nil
		case <-ctx.Done():
			return nil
		case err := <-r.failed:
			return err
		case err := <-o.Failed:
			return err
		case <-tick.C:
			if o.Progress != nil {
				o.Progress(r.progress())
			}
		}
	}
}

func (r *replay) progress() Progress {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := Progress{Jobs: len(r.work.Jobs), Submitted: r.submitted, Ended: r.ended, Elapsed: time.Since(r.began)}
	last := r.work.Jobs[len(r.work.Jobs)-1].Arrival - r.work.Jobs[0].Arrival
	p.Left = max(0, time.Duration(last)-p.Elapsed, time.Until(r.lastDue))
	return p
}

// fail ends the replay; the first reason counts.
func (r *replay) fail(err error) {
	select {
	case r.failed <- err:
	default:
	}
}

// workDone returns the work of the tasks of all jobs that ended.
func (r *replay) workDone() (busy int64) {
	for i := range r.out.Jobs {
		if r.out.Jobs[i].Ended {
			busy += r.work.Jobs[i].Work()
		}
	}
	return busy
}

// Live adds to an outcome the processor time and memory of the daemons, which only a
// live run measures. The daemons had work with the tasks of failed jobs as well, but these
// are not what a cluster gets done.
func Live(o *experiment.Outcome, w *workload.Workload, cpu time.Duration, rss int64) {
	ended, completed, last, first := 0, 0, int64(0), int64(0)
	for i := range o.Jobs {
		j, tasks := &o.Jobs[i], len(w.Jobs[i].Durations)
		if !j.Ended {
			continue
		}
		if ended == 0 || j.Arrival < first {
			first = j.Arrival
		}
		ended += tasks
		if !j.Failed {
			completed += tasks
			last = max(last, j.End)
		}
	}
	o.Facts.Live = &measure.Live{
		CPUPerTask: measure.Number(cpu.Seconds() / float64(ended)), RSSMax: rss, TasksPerSecond: measure.Missing(),
	}
	if completed > 0 {
		o.Facts.Live.TasksPerSecond = measure.Number(float64(completed) / (float64(last-first) / 1e9))
	}
}

// Unmeasured completes an outcome of a running cluster, whose daemons' use of the
// machine is not known.
func Unmeasured(o *experiment.Outcome, w *workload.Workload) {
	Live(o, w, 0, 0)
	o.Facts.Live.CPUPerTask = measure.Missing()
}

// name returns the name of a job for errors.
func (r *replay) name(i int) string {
	return fmt.Sprintf("the job of line %d of %s", r.work.Jobs[i].Line, r.work.Name)
}
