package soak

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/pigeon-sched/pigeon/bench/launch"
	"github.com/pigeon-sched/pigeon/bench/product"
	"github.com/pigeon-sched/pigeon/cluster"
	"github.com/pigeon-sched/pigeon/frontend"
	"github.com/pigeon-sched/pigeon/internal/api"
	"golang.org/x/sync/errgroup"
)

// Options describe a run.
type Options struct {
	Tasks  int           // in all
	Nodes  int           // names of nodes that come and go
	Every  time.Duration // between two samples; 0: SampleEvery
	For    time.Duration // no more tasks are submitted after this; 0 for no limit
	Seed   uint64        // of the coming and going
	Policy string        // NAME[:key=value,...]
	// Progress, if set, is called after each portion of tasks.
	Progress func(tasks int)
}

// Result is what "pigeon-bench soak" prints.
type Result struct {
	Bench    string    `json:"bench"`    // soak
	Policy   string    `json:"policy"`   // NAME[:key=value,...]
	Seed     uint64    `json:"seed"`     // of the coming and going of nodes
	Tasks    int       `json:"tasks"`    // that ended
	Failed   int       `json:"failed"`   // of them
	Seconds  float64   `json:"seconds"`  // from the first submission to the last end
	Names    int       `json:"names"`    // of nodes that came and went
	Came     int       `json:"came"`     // starts of such nodes
	Stopped  int       `json:"stopped"`  // that ended in order
	Killed   int       `json:"killed"`   // by SIGKILL
	Samples  int       `json:"samples"`  // of every daemon
	Verdicts []Verdict `json:"verdicts"` // one for each measure of each daemon that stays
}

// Flat reports whether no measure grew beyond its bound and no task failed.
func (r *Result) Flat() bool {
	return r.Failed == 0 && r.Decided() && r.grown() == 0
}

// Decided reports whether the run was long enough for a verdict.
func (r *Result) Decided() bool {
	for i := range r.Verdicts {
		if r.Verdicts[i].Points < LeastPoints {
			return false
		}
	}
	return len(r.Verdicts) > 0
}

// grown counts the measures that are not flat.
func (r *Result) grown() (n int) {
	for i := range r.Verdicts {
		if !r.Verdicts[i].Flat {
			n++
		}
	}
	return n
}

// The tables of ended jobs are small, so that they are full early in a run.
const (
	retention = 10 * time.Second
	maxEnded  = 1000
)

// SampleEvery is the time between two samples.
const SampleEvery = 2 * time.Second

const (
	portion      = 50_000 // tasks that are submitted before the time is looked at again
	jobTasks     = 100
	jobsInFlight = 64
)

// Run starts the cluster, runs the tasks and returns what grew.
func Run(ctx context.Context, o Options) (*Result, error) {
	c, err := product.Start(ctx, cluster.Spec{
		Policy: o.Policy, Groups: []int{2, 2}, Slots: 10, Frontends: 2, Isolation: cluster.Process, HTTP: true, Seed: o.Seed,
		Configure: func(config any) {
			if c, is := config.(*frontend.Config); is {
				c.Retention, c.MaxEnded = retention, maxEnded
			}
		},
	})
	if err != nil {
		return nil, err
	}
	r, err := o.run(ctx, c)
	return r, errors.Join(err, c.Close())
}

func (o *Options) run(ctx context.Context, c *cluster.Cluster) (*Result, error) {
	visitors := &visitors{cluster: c, names: o.Nodes, within: stopsWithin, rand: rand.New(rand.NewPCG(o.Seed, 1))} //nolint:gosec // no secret
	r := &Result{Bench: "soak", Policy: o.Policy, Seed: o.Seed}
	var done atomic.Int64
	samples := newSeries(c)
	samples.every = cmp.Or(o.Every, SampleEvery)
	if err := samples.sample(ctx, &done); err != nil { // before the first task, however soon the last one ends
		return nil, err
	}
	all, running := errgroup.WithContext(ctx)
	beside, end := context.WithCancel(running)
	defer end()
	all.Go(func() error { return visitors.run(beside) })
	all.Go(func() error { return samples.run(beside, &done) })
	all.Go(func() error {
		defer end()
		return o.load(running, c, r, &done)
	})
	if err := all.Wait(); err != nil {
		return nil, err
	}
	r.Names, r.Came, r.Stopped, r.Killed = visitors.used, visitors.came, visitors.stopped, visitors.killed
	r.Samples, r.Verdicts = samples.verdicts()
	return r, nil
}

// load runs the tasks, a portion after the other.
func (o *Options) load(ctx context.Context, c *cluster.Cluster, r *Result, done *atomic.Int64) error {
	began := time.Now()
	for r.Tasks < o.Tasks && (o.For == 0 || time.Since(began) < o.For) {
		got, err := launch.Rate(ctx, c.Frontends(), launch.RateOptions{
			Tasks: min(portion, o.Tasks-r.Tasks), Backend: api.BackendSleep, JobTasks: jobTasks, InFlight: jobsInFlight,
			Progress: func(n int) { done.Store(max(done.Load(), int64(r.Tasks+n))) },
		}, nil)
		if err != nil {
			return fmt.Errorf("after %d tasks: %w", r.Tasks, err)
		}
		r.Tasks += got.Tasks
		r.Failed += got.Failed
		r.Seconds = time.Since(began).Seconds()
		if o.Progress != nil {
			o.Progress(r.Tasks)
		}
	}
	return nil
}

// series is the samples of every daemon that stays.
type series struct {
	every   time.Duration
	daemons []daemon
	points  []map[Measure][]Point // by daemon
	samples int
}

func newSeries(c *cluster.Cluster) *series {
	s := &series{daemons: daemonsOf(c)}
	for range s.daemons {
		s.points = append(s.points, map[Measure][]Point{})
	}
	return s
}

// run takes samples until the context ends.
func (s *series) run(ctx context.Context, done *atomic.Int64) error {
	tick := time.NewTicker(s.every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
		err := s.sample(ctx, done)
		if ctx.Err() != nil {
			return nil // the run is over, and readings of only some daemons are no sample
		}
		if err != nil {
			return err
		}
	}
}

// sample takes one sample of every daemon.
func (s *series) sample(ctx context.Context, done *atomic.Int64) error {
	points := make([]map[Measure]Point, len(s.daemons))
	for i := range s.daemons {
		d := &s.daemons[i]
		got, err := d.read(ctx)
		if err != nil {
			return err
		}
		points[i] = map[Measure]Point{}
		for _, m := range d.measures() {
			points[i][m] = Point{float64(done.Load()) / 1e6, got.of(m)}
		}
	}
	for i, of := range points {
		for m, p := range of {
			s.points[i][m] = append(s.points[i][m], p)
		}
	}
	s.samples++
	return nil
}

// verdicts returns how many samples there are of each daemon, and what they show.
func (s *series) verdicts() (samples int, list []Verdict) {
	for i := range s.daemons {
		for _, m := range s.daemons[i].measures() {
			list = append(list, judge(s.daemons[i].name, m, s.points[i][m]))
		}
	}
	return s.samples, list
}
