package pigeon

import "github.com/pigeon-sched/pigeon/internal/sched"

// NameSort is the name of Pigeon with sorted queues and tasks that move between groups.
const NameSort = "pigeon-sort"

// NameX is the name of pigeon-sort with suspension and without reserved workers.
const NameX = "pigeon-x"

// Options are what the variants add to Pigeon; the zero value is Pigeon.
type Options struct {
	// Fanout serves the short queue by the number of a job's tasks in it, the fewest
	// first, and those that have waited 20 cutoffs before.
	Fanout bool
	// Sorted serves the queues by remaining work instead of first in, first out,
	// and lets groups with spare workers take tasks of others.
	Sorted bool
	// Aging is how strongly a long job gains by waiting: the power of its age in
	// the order of the long queue. 0 is pure least remaining work.
	Aging int
	// Tail orders long jobs by the rest of the learned time in which about 99 of 100
	// of them end, and not by their age: fewer take very long, at the price of those
	// few. Aging is not used then.
	Tail bool
	// Guard serves jobs first that have waited 20 cutoffs, the oldest first.
	Guard bool
	// Suspend lets a short task that finds no idle worker suspend a long one, which
	// continues in the same worker later.
	Suspend bool
	// Patience is how long a short task waits for an idle worker before that.
	Patience sched.Time
	// Canary detects wrong classes: task 0 of a job declared long is tried as a
	// short one, and a short task that runs for a cutoff makes its job long.
	Canary bool
}

// MaxAging bounds Options.Aging.
const MaxAging = 10

// DefaultOptions are those of pigeon-sort.
func DefaultOptions() Options { return Options{Sorted: true, Aging: 2, Tail: true} }

// XOptions are those of pigeon-x.
func XOptions() Options {
	o := DefaultOptions()
	o.Suspend, o.Canary = true, true
	return o
}

// SortPolicy returns the cores of pigeon-sort: Pigeon's, with these options.
func SortPolicy(o Options) sched.Policy {
	p := Policy()
	p.Name, p.CrossGroup, p.Explain = NameSort, true, explainSorted
	p.NewDistributor = func(c sched.DistributorConfig) sched.DistributorCore {
		return NewDistributorWith(c, Options{Tail: o.Tail})
	}
	p.NewMaster = func(c sched.MasterConfig) sched.MasterCore { return NewMasterWith(c, o) }
	return p
}

// XPolicy returns the cores of pigeon-x: those of pigeon-sort with suspension. No
// worker is reserved, and short tasks always go first.
func XPolicy(o Options) sched.Policy {
	p := SortPolicy(o)
	p.Name, p.Suspending, p.Explain = NameX, true, explainSuspending
	o.Suspend = true
	p.NewDistributor = func(c sched.DistributorConfig) sched.DistributorCore { return NewDistributorWith(c, o) }
	p.NewMaster = func(c sched.MasterConfig) sched.MasterCore {
		c.Params.Reserved, c.Params.Weight = 0, 0
		return NewMasterWith(c, o)
	}
	p.NewWorker = func(c sched.WorkerConfig) sched.WorkerCore { return NewWorkerWith(c, o) }
	return p
}
