// Package pigeon is the product's policy: "Pigeon: an Effective Distributed,
// Hierarchical Datacenter Job Scheduler" (SoCC 2019), sections 3 and 4.
//
//	distributor   splits each job evenly over the groups, one message per group
//	master        one queue per class and the idle workers of one group
//	worker        one slot: one task at a time
//
// The paper's worked example (section 4.1): four workers, no delay, no reserved
// worker, jobs A {20,1,1,10,10,10}, B {2}, C {2} arriving in this order. With two
// groups of two, A's first three tasks and B in one and the rest in the other,
// they complete at 20, 4 and 12; with one central queue at 20, 12 and 13.
package pigeon

import "github.com/pigeon-sched/pigeon/internal/sched"

// Name is how the policy is asked for.
const Name = "pigeon"

// Policy gives the policy's cores.
func Policy() sched.Policy {
	return sched.Policy{
		Name:           Name,
		NewDistributor: func(c sched.DistributorConfig) sched.Core { return NewDistributor(c) },
		NewMaster:      func(c sched.MasterConfig) sched.Core { return NewMaster(c) },
		NewWorker:      func(c sched.WorkerConfig) sched.Core { return NewWorker(c) },
	}
}

var (
	_ sched.Core = (*Distributor)(nil)
	_ sched.Core = (*Master)(nil)
	_ sched.Core = (*Worker)(nil)
)
