package check

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pigeon-sched/pigeon/internal/experiment"
	"github.com/pigeon-sched/pigeon/internal/sim"
	"github.com/pigeon-sched/pigeon/internal/workload"
)

// Options describe which runs are made. They end with the first limit that is reached.
type Options struct {
	Seed     uint64        // the first
	Policies []string      // each runs with every seed
	Kinds    sim.Kinds     // 0: all
	Time     time.Duration // during which faults happen in a run, in virtual time
	For      time.Duration // no run begins later; 0 for no limit
	Faults   int64         // no run begins when this many have happened; 0 for no limit
	Most     int           // violations after which no run begins; 0 for no limit
	// Found is called for each violation, one at a time; nil for no observer.
	Found func(Violation)

	simulate simulate // nil: the simulator; set by tests
}

// simulate makes a run, as [experiment.Run.SimulateFaults].
type simulate func(r *experiment.Run, ctx context.Context, w *workload.Workload, delay time.Duration, f sim.Faults) (*sim.Report, sim.Faults, int, error)

// Violation is a run that violates a check.
type Violation struct {
	Policy  string `json:"policy"`  // as it was named
	Seed    uint64 `json:"seed"`    // of the run
	What    string `json:"what"`    // the check, and what violates it
	Command string `json:"command"` // repeats the smallest run that was found
}

// Run makes the runs on all processors. The error is about the options, or ctx's.
func Run(ctx context.Context, o Options) (*Result, error) {
	if o.simulate == nil {
		o.simulate = (*experiment.Run).SimulateFaults
	}
	if len(o.Policies) == 0 {
		return nil, fmt.Errorf("no policy was named; nothing was run")
	}
	c := campaign{o: o, began: time.Now(), result: newResult(o.Policies)}
	for i, spec := range o.Policies { // every mistake is found before anything runs
		if slices.Contains(o.Policies[:i], spec) {
			return nil, fmt.Errorf("the policy %q is given twice; nothing was run; leave one out", spec)
		}
		if _, err := prepare(spec, o.Seed); err != nil {
			return nil, err
		}
	}
	var all sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		all.Go(func() { c.work(ctx) })
	}
	all.Wait()
	c.result.Took = time.Since(c.began)
	return c.result, ctx.Err()
}

// campaign is the state that the processors share.
type campaign struct {
	o     Options
	began time.Time
	next  atomic.Int64 // number of the next run

	mu     sync.Mutex
	result *Result
}

// work makes one run after another until a limit is reached.
func (c *campaign) work(ctx context.Context) {
	for ctx.Err() == nil && !c.over() {
		n := c.next.Add(1) - 1
		kinds := int64(len(c.o.Policies))
		spec, seed := c.o.Policies[n%kinds], c.o.Seed+uint64(n/kinds) //nolint:gosec // not negative
		c.run(ctx, spec, seed)
	}
}

// over reports whether a limit is reached.
func (c *campaign) over() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return (c.o.For > 0 && time.Since(c.began) >= c.o.For) ||
		(c.o.Faults > 0 && c.result.Faults() >= c.o.Faults) ||
		(c.o.Most > 0 && len(c.result.Violations) >= c.o.Most)
}

// run makes the run of a policy and a seed, and counts it. A run that ctx ends does not
// count.
func (c *campaign) run(ctx context.Context, spec string, seed uint64) {
	s, err := prepare(spec, seed)
	if err != nil {
		c.violated(Violation{Policy: spec, Seed: seed, What: err.Error()})
		return
	}
	f := sim.Faults{Seed: seed, Kinds: c.o.Kinds, Until: s.until(c.o.Time)}
	if f.Kinds == 0 {
		f.Kinds = sim.AllKinds
	}
	report, smaller, jobs, err := c.o.simulate(s.run, ctx, s.workload, delay, f)
	switch {
	case ctx.Err() != nil:
		return
	case err != nil:
		c.violated(Violation{Policy: spec, Seed: seed, What: err.Error()})
		return
	}
	c.mu.Lock()
	c.result.add(spec, report)
	c.mu.Unlock()
	if fault := report.Violated(); fault != nil {
		c.violated(Violation{Policy: spec, Seed: seed, What: fault.Error(), Command: s.command(&smaller, jobs)})
	}
}

func (c *campaign) violated(v Violation) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.result.violated(v)
	if c.o.Found != nil {
		c.o.Found(v)
	}
}
