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
//
// docs/policies.md has the rules, docs/cores.md the messages. pigeon-sort and pigeon-x
// are these cores with [Options]: the master calls hooks, which an extension
// implements.
package pigeon

import "github.com/pigeon-sched/pigeon/internal/sched"

// Name is the name under which users choose the policy.
const Name = "pigeon"

// FanoutPolicy returns the cores of pigeon with the short queue ordered by the jobs'
// numbers of tasks.
func FanoutPolicy() sched.Policy {
	p := Policy()
	p.Explain = explainFanout
	p.NewMaster = func(c sched.MasterConfig) sched.MasterCore { return NewMasterWith(c, Options{Fanout: true}) }
	return p
}

// Policy returns the policy's cores.
func Policy() sched.Policy {
	return sched.Policy{
		Name: Name, Sequenced: true, Wide: true, Explain: explain,
		NewDistributor: func(c sched.DistributorConfig) sched.DistributorCore { return NewDistributor(c) },
		NewMaster:      func(c sched.MasterConfig) sched.MasterCore { return NewMaster(c) },
		NewWorker:      func(c sched.WorkerConfig) sched.WorkerCore { return NewWorker(c) },
	}
}

var (
	_ sched.DistributorCore = (*Distributor)(nil)
	_ sched.MasterCore      = (*Master)(nil)
	_ sched.WorkerCore      = (*Worker)(nil)
)
