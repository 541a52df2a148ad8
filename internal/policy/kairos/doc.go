// Package kairos is the rival "Kairos: Preemptive Data Center Scheduling Without
// Runtime Estimates" (SoCC 2018): a central queue that keeps the nodes evenly
// loaded, and nodes that serve the task with the least attained service first by
// suspending the others. No estimate is used anywhere.
//
//	distributor (Pigeon's) ──Tasks──▶ master, one for all nodes
//	                                    │ Launch: fewest tasks first, at most N + Q
//	                                    ▼
//	   Report ◀── node: N tasks run, Q wait suspended ──Idle, Beat──▶ master
//
// # A worked example
//
// A node with one core and a quantum of 1 s gets A at 0, B of 0.5 s at 0.4 s, and
// C at 2 s; A and C are long.
//
//	0.0  A runs
//	0.4  B comes: A has attained the most, 0.4 s, and is suspended; B runs
//	0.9  B ends: A resumes
//	1.9  end of A's quantum, no task waits: renewed
//	2.0  C comes: A is suspended at 1.5 s, C runs
//	3.0  end of C's quantum at 1 s, A has more: renewed, A is passed over
//	4.0  C has 2 s, A no more than that: they swap
//	5.0  A has 2.5 s, C no more than that: they swap
//
// # What the paper leaves open
//
// The listings are not followed to the letter: a new task joins the running set after
// the victim was chosen, else it would be one; the victim leaves the set; and the
// central loop runs while tasks wait and a node has fewer than N + Q.
//
// A task is passed over when a quantum is renewed while it waits; with N cores it
// starves after s renewals on each. If every end of a quantum at which it does not run
// counted, more than s + 1 equal tasks that take turns would starve each other: with
// our Q of 10, short jobs of the trace ngo_90 would take 33 s in the mean instead of
// 8.4 s. A task that starves is served before all others at the next end of a task or a
// quantum. While it has its uninterrupted run it is no victim: a new task that finds no
// other waits, with nothing attained, and is first at the next turn. Of several
// victims, or several tasks to resume, the one that came first is taken. Suspending
// costs nothing.
//
// The master places tasks whenever some arrive or a node has room, so a heartbeat
// finds nothing left to place: it reports the attained service, which ranks nodes with
// the same number of tasks are ordered.
//
// # Failures
//
// The master numbers its launches to a node, and a heartbeat carries the number of
// the last that came: a task that was launched before and is not in it has ended,
// although the notice of that was lost. The numbers continue when a live node was taken
// for lost, and each epoch has its own numbers: no launch in transit at that moment is
// taken for a later one. A node that refuses because it is full gets no task until it
// reports that it has room. Tasks at a lost node are lost, and their distributors send
// them to the head of the queue again. Only tasks of the built-in backends are taken:
// those of an application cannot be suspended.
package kairos

import (
	"github.com/pigeon-sched/pigeon/internal/policy/pigeon"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Name is the name under which users choose the policy.
const Name = "kairos"

// Policy returns the policy's cores.
func Policy(o Options) sched.Policy {
	return sched.Policy{
		Name:           Name,
		Central:        true,
		Slots:          o.Cores,
		NodesSuspend:   true,
		Explain:        explain,
		NewDistributor: func(c sched.DistributorConfig) sched.DistributorCore { return pigeon.NewDistributor(c) },
		NewMaster:      func(c sched.MasterConfig) sched.MasterCore { return NewMaster(c, o) },
		NewWorker:      func(c sched.WorkerConfig) sched.WorkerCore { return NewNode(c, o) },
	}
}

var (
	_ sched.MasterCore = (*Master)(nil)
	_ sched.WorkerCore = (*Node)(nil)
)
