package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/pigeon-sched/pigeon/bench/chaos/network"
	"github.com/pigeon-sched/pigeon/bench/history"
	"github.com/pigeon-sched/pigeon/bench/replay"
	"github.com/pigeon-sched/pigeon/bench/spark/sparkreplay"
	"github.com/pigeon-sched/pigeon/internal/experiment"
	"github.com/pigeon-sched/pigeon/internal/workload"
)

// Applications are Spark applications in the mix. Each of them runs a small job every few seconds
// from before the first fault until after the last.
type Applications struct {
	Count   int
	Program sparkreplay.Program // starts their drivers
	Jar     string              // of the plugin; "" where the program adds it
}

const (
	// sparkJobEvery is the mean time between two jobs of an application.
	sparkJobEvery = 2 * time.Second
	// sparkStart bounds how long the applications may take to have all their executors.
	sparkStart = 3 * time.Minute
	// sparkEnd bounds how long their jobs may take to end after the load: their executors start again
	// first, and on a busy machine a JVM takes a minute for that.
	sparkEnd = 4 * time.Minute
)

// sparkSettings are those of applications that outlive executors: Spark fails a job otherwise when
// four attempts of one task have failed, of whatever cause.
var sparkSettings = []string{"spark.task.maxFailures=1000", "spark.stage.maxConsecutiveAttempts=1000"}

// mostApplications bounds the Spark applications; each has several executors.
const mostApplications = 8

// Check refuses a number of applications that cannot work.
func (o *Applications) Check() error {
	if o.Count < 1 || o.Count > mostApplications {
		return fmt.Errorf("%d Spark applications are outside 1 to %d; nothing was started", o.Count, mostApplications)
	}
	return nil
}

// NodeMemory returns the MB that a node must have for an executor of each application: one has a heap
// of 512 MB and takes 896 MB with what Spark adds.
func (o *Applications) NodeMemory() int64 { return int64(o.Count) << 10 }

// ApplicationOptions are of a cluster in which applications run beside other work.
type ApplicationOptions struct {
	Frontends []string // of the cluster; drivers take them in turn
	Executors int      // of each application
	Settings  []string // of Spark, KEY=VALUE, besides those that outlive executors
	Seed      uint64   // of the jobs
	Lasts     time.Duration
	Progress  func(line string)
}

// workload draws the jobs of the applications, which go to them in turn.
func (o *Applications) workload(m *ApplicationOptions) *workload.Workload {
	draw := rand.New(rand.NewPCG(m.Seed, 0x5ba4)) //nolint:gosec // it is to be repeated
	w := &workload.Workload{Name: "mix"}
	for at := 0.0; at < m.Lasts.Seconds() || len(w.Jobs) < o.Count; at += draw.ExpFloat64() * sparkJobEvery.Seconds() / float64(o.Count) {
		j := workload.Job{Line: len(w.Jobs) + 1, Arrival: int64(at * 1e9)}
		for range 1 + draw.IntN(4) {
			j.Durations = append(j.Durations, int64((0.05+draw.Float64()*0.5)*1e9))
		}
		w.Jobs = append(w.Jobs, j)
	}
	return w
}

// RunningApplications are Spark applications that were started.
type RunningApplications struct {
	count int
	work  *workload.Workload
	stop  context.CancelFunc
	ended chan struct{}
	began int64

	// Of the goroutine that runs them, until ended is closed.
	got  *replay.Measured
	err  error
	died []string
}

// Start starts the applications, and returns when all of them have their executors.
func (o *Applications) Start(ctx context.Context, m ApplicationOptions) (*RunningApplications, error) {
	ctx, stop := context.WithCancel(ctx)
	a := &RunningApplications{count: o.Count, work: o.workload(&m), stop: stop, ended: make(chan struct{})}
	begun := make(chan struct{})
	program := o.Program
	if program.Env == nil {
		program.Env = os.Environ()
	}
	program.Env = slices.DeleteFunc(slices.Clone(program.Env), func(v string) bool { return strings.HasPrefix(v, network.Variable+"=") })
	options := sparkreplay.Options{
		Drivers: o.Count, Programs: []sparkreplay.Program{program}, Jar: o.Jar, Executors: m.Executors, Within: sparkStart,
		Master:   func(k int) string { return sparkreplay.Rotated(m.Frontends, k) },
		Settings: slices.Concat(sparkSettings, m.Settings),
		Waiting: func(ready, all int) {
			m.Progress(fmt.Sprintf("%d of %d Spark applications have their executors", ready, all))
		},
		Died: func(err error) { a.died = append(a.died, err.Error()) },
		Progress: func(replay.Progress) {
			if a.began == 0 {
				a.began = Now()
				close(begun)
			}
		},
	}
	go func() {
		defer close(a.ended)
		a.got, a.err = sparkreplay.Run(ctx, a.work, options)
	}()
	select {
	case <-begun:
		return a, nil
	case <-a.ended:
		stop()
		return nil, errors.Join(errors.New("the Spark applications ended before they had their executors; nothing was measured; see that 'pigeon spark submit' runs an application here by itself"), a.err)
	}
}

// driverAddress returns the settings that let executors find drivers: on host 0 of the network, which
// no fault cuts off from the others.
func (w *world) driverAddress() []string {
	if !network.Entered() {
		return nil
	}
	address := w.hosts.network.Address(0)
	return []string{"spark.driver.host=" + address, "spark.driver.bindAddress=" + address}
}

// Stop ends the applications at once.
func (a *RunningApplications) Stop() {
	a.stop()
	<-a.ended
}

// Finish waits for the applications to end, not beyond [sparkEnd], and returns their jobs.
func (a *RunningApplications) Finish(ctx context.Context) ([]history.SparkJob, error) {
	end := time.NewTimer(sparkEnd)
	defer end.Stop()
	select {
	case <-a.ended:
	case <-ctx.Done():
	case <-end.C:
	}
	a.Stop()
	if a.err != nil {
		return nil, fmt.Errorf("the Spark applications: %w", a.err)
	}
	list := make([]history.SparkJob, len(a.work.Jobs))
	for i := range list {
		list[i] = a.job(i, &a.got.Outcome.Jobs[i])
	}
	return list, nil
}

// job returns what became of a job.
func (a *RunningApplications) job(i int, j *experiment.Job) history.SparkJob {
	s := history.SparkJob{Application: i % a.count, Job: a.work.Jobs[i].Line, Submitted: a.began + a.work.Jobs[i].Arrival}
	switch {
	case !j.Ended:
		s.Why = a.died
		return s
	case j.Failed:
		s.State = "failed"
	default:
		s.State = "completed"
	}
	s.Ended = a.began + j.End
	return s
}
