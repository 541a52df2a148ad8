// Package kairos is the rival "Kairos: Preemptive Data Center Scheduling Without
// Runtime Estimates" (SoCC 2018): a central queue that keeps the nodes evenly
// loaded, and nodes that serve the task with the least attained service first by
// suspending the others. No estimate is used anywhere.
package kairos

import (
	"github.com/pigeon-sched/pigeon/internal/policy/pigeon"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Name is how the policy is asked for.
const Name = "kairos"

// Policy gives the policy's cores.
func Policy(o Options) sched.Policy {
	return sched.Policy{
		Name:           Name,
		Central:        true,
		Cores:          max(1, o.Cores),
		NewDistributor: func(c sched.DistributorConfig) sched.Core { return pigeon.NewDistributor(c) },
		NewMaster:      func(c sched.MasterConfig) sched.Core { return NewMaster(c, o) },
		NewWorker:      func(c sched.WorkerConfig) sched.Core { return NewNode(c, o) },
	}
}

var (
	_ sched.Core = (*Master)(nil)
	_ sched.Core = (*Node)(nil)
)
