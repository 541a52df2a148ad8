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
// pigeon-sort and pigeon-x are these cores with [Options], not other cores; without
// options they have none of what follows.
//
//	short queue   least estimate x queued tasks of the job here first
//	long queue    smallest index first. By the tail, the default: e x u x the time
//	              left to end by, see tail.go. By age: e x u / (age + 30 cutoffs +
//	              2 r)^aging
//	spare worker  told to two other masters, which hand over the task they would
//	              serve next, or keep a flag: an arriving task that finds no idle
//	              worker follows it. A task moves once at most. A master that keeps
//	              the flag still is not told again, see spare.go.
//	pigeon-x      no worker is reserved; a short arrival tries an idle worker, a
//	              victim, a flag, the queue. A victim runs the long task with the
//	              largest index; it is suspended and goes on in the same worker.
//	canary        pigeon-x: task 0 of a job declared long is tried as a short one.
//	              If it ends within a cutoff the job is short; a short task that
//	              runs longer makes its job long. A wrong class costs at most one
//	              cutoff of work per job.
//
// The tail has each master learn a limit that about one long job in a hundred ends
// past. A job is due by 0.9 of it and gains while it can still end by then; what is
// late gains little more. A limit that is far off costs order, not work: it comes
// back by a tenth or a thousandth a job. It is lost with its master and learned anew.
//
// Example (by the tail, due by 54 cutoffs): of two long jobs of one task each, the
// one of 10 cutoffs that came 29 cutoffs ago has the index 10 x (54 - 29 - 15) = 100
// and goes before one of 4 cutoffs that came just now, 4 x (54 - 6) = 192.
//
// Example (by age, aging 2): of two long jobs of one task each, the one of 4 cutoffs that
// came 100 cutoffs ago has the index 4 / (100 + 30 + 8)^2 = 0.00021 and goes
// before one of 2 cutoffs that came just now, 2 / (30 + 4)^2 = 0.00173.
//
// A task moves by way of its distributor, so that this knows at every instant which
// group holds it:
//
//	master A            distributor              master B
//	    │ ◀────────────────── Spare ───────────────── │   a worker is idle there
//	    │ ── Returned, Peer=B ──▶ │                    │
//	    │                         │ ── Tasks, Moved, ─▶ │   journaled as Placed; it
//	    │                         │       Peer=A        │   tells that A's flag is gone
//
// It costs a hop and a message more than if A sent the task to B. Whichever of the
// three is lost in the middle, the task is with the distributor, or in the one group
// where the distributor believes it.
//
// The life of a task at a worker of pigeon-x, as the worker's master has it:
//
//	        Launch, Preempt                Preempt of another
//	queued ─────────────────▶ running ─────────────────────▶ suspended
//	   ▲                       │ │ ▲                            │
//	   └── Refused, Yielded ───┘ │ └───────── Continue ─────────┘
//	                             ▼
//	                           ended
//
// What may fail and how: a victim that ends while the order to suspend it is on its
// way lets its worker run the short task at once; one that was never there has both
// refused. Idle notices name what ended and what is suspended, so that a master that
// thinks otherwise learns of it. What a slot holds and nobody knows of is killed, and
// its distributor tries the task again. A master that follows another adopts what is
// suspended. A notice of a spare worker that is out of date costs a move. One that was
// lost, or a flag whose task never came, keeps two groups apart for ten cutoffs, after
// which the notice is repeated.
package pigeon

import "github.com/pigeon-sched/pigeon/internal/sched"

// Name is how the policy is asked for.
const Name = "pigeon"

// Policy returns the policy's cores.
func Policy() sched.Policy {
	return sched.Policy{
		Name: Name, Sequenced: true, Explain: explain,
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
