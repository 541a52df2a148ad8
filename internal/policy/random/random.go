// Package random is random assignment with late binding: docs/add-a-policy.md builds
// it step by step. Every task is offered to one worker, drawn at random, by a
// reservation that waits in the worker's queue, first come, first served. When its
// turn comes the worker asks the frontend for a task and receives the job's next one, or
// none. Classes are ignored.
//
// It is Sparrow's batch sampling with one probe per task, drawn with repetition, and
// the line that every policy which looks at more than one worker has to beat.
//
// Example: four workers, no delay, jobs A of tasks {3, 3} and B of {1, 1}. If A draws
// workers 0 and 1 and B draws 1 and 2, then B's task at worker 2 ends at 1, and the
// other one at 4, behind A's at worker 1, while worker 3 stays idle.
package random

import (
	"github.com/pigeon-sched/pigeon/internal/policy/probing"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Name is the name under which users choose the policy.
const Name = "random"

// Policy returns the policy: its cores, and that its tasks are bound late. There is no
// master, so the one master daemon of a cluster only publishes the membership.
func Policy() sched.Policy {
	return sched.Policy{
		Name: Name, LateBinding: true,
		NewDistributor: func(c sched.DistributorConfig) sched.DistributorCore {
			return probing.NewDistributor(c, probing.Options{Ratio: 1, Repeated: true})
		},
		NewWorker: func(c sched.WorkerConfig) sched.WorkerCore {
			return probing.NewWorker(c, probing.Rules{}) // first come, first served
		},
	}
}
