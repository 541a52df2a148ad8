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
// # The variants
//
// pigeon-sort and pigeon-x are this master with [Options], not other masters; a
// master without options has none of what follows. Both run in simulation only.
//
//	short queue   least estimate x queued tasks of the job here first
//	long queue    smallest index first: e x u / (age + 30 cutoffs + 2 r)^aging
//	spare worker  told to two other masters, which hand over the task they would
//	              serve next, or keep a flag: an arriving task that finds no idle
//	              worker follows it. A task moves once at most.
//	pigeon-x      no worker is reserved; a short arrival tries an idle worker, a
//	              victim, a flag, the queue. A victim runs the long task with the
//	              largest index; it is suspended and goes on in the same worker.
//
// Example (aging 2): of two long jobs of one task each, the one of 4 cutoffs that
// came 100 cutoffs ago has the index 4 / (100 + 30 + 8)^2 = 0.00021 and goes
// before one of 2 cutoffs that came just now, 2 / (30 + 4)^2 = 0.00173.
//
// What may fail and how: a victim that ends while the order to suspend it is on
// its way lets its worker run the short task at once; a notice of a spare worker
// that is out of date costs a move. What a variant lacks for a live form: the
// distributor does not learn that a task moved, so that a group that is lost
// takes with it what was moved there.
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
