// Package sparrow is "Sparrow: Distributed, Low Latency Scheduling" (SOSP 2013) as
// the Pigeon paper compares with it: batch sampling (section 3.4) with late
// binding (section 3.5), probe ratio 2, classes ignored.
//
//	distributor   ceil(d x F) reservations at distinct random workers; hands the
//	              next task to each worker that asks
//	worker        serves its reservations in order of arrival
//
// With more reservations than workers, whole rounds over all workers go first.
// Worked numbers: a job of 3 tasks on 10 workers has 6 reservations, at 6 of
// them; on 4 workers one at each, and a second one at 2. Each reservation is a
// probe, a request and an answer, each task a report: at d = 2 that is 7
// messages a task.
//
// Package probing has the cores; nothing of them is Sparrow's alone.
package sparrow

import (
	"github.com/pigeon-sched/pigeon/internal/policy/probing"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Name is the name under which users choose the policy.
const Name = "sparrow"

// Options are Sparrow's own numbers.
type Options struct {
	Ratio  float64 // d, probes for each task
	Cancel bool    // proactive cancellation (section 3.6)
}

// Defaults are the paper's.
func Defaults() Options { return Options{Ratio: 2} }

// Policy returns the policy's cores.
func Policy(o Options) sched.Policy {
	return sched.Policy{
		Name: Name, LateBinding: true,
		NewDistributor: func(c sched.DistributorConfig) sched.DistributorCore {
			return probing.NewDistributor(c, probing.Options{Ratio: o.Ratio, Cancel: o.Cancel})
		},
		NewWorker: func(c sched.WorkerConfig) sched.WorkerCore { return probing.NewWorker(c, probing.Rules{}) },
	}
}
