// Package hawk is "Hawk: Hybrid Datacenter Scheduling" (ATC 2015) as the Pigeon
// paper compares with it.
//
//	long jobs     ──▶ master over all workers, which places each task at the general
//	                  worker with the least waiting time (package leastwait)
//	short jobs    ──▶ ceil(2F) reservations over all workers, drawn with repetition,
//	                  late binding (package probing)
//	idle worker   ──▶ steals short reservations that wait behind long work
//
// The reserved partition, which runs no long task, is the first round(share x
// workers): 12 of 120 at a share of 0.1.
//
// # Stealing (section 3.6)
//
// A worker that turns idle with an empty queue asks up to 10 random general
// workers, one after another, once per turn to idle, for the first run of short
// reservations behind long work: at a worker that runs a long task from the head
// of its queue, else behind its first long one. With s short and L long, a queue
// s1 L1 s2 s3 L2 s4 gives s2 and s3, or s1 while a long task runs.
//
// Where the paper is silent: a worker does not ask itself; a reservation that arrives
// while it asks is served at once, and its search ends there. A worker remembers for a
// minute which reservations a thief took, and serves them itself if the thief is taken for
// lost: messages in transit to it have been dropped, even if the thief lives.
package hawk

import (
	"github.com/pigeon-sched/pigeon/internal/policy/leastwait"
	"github.com/pigeon-sched/pigeon/internal/policy/probing"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Name is the name under which users choose the policy.
const Name = "hawk"

// Options are Hawk's own numbers.
type Options struct {
	Ratio float64 // probes for each short task
	Tries int     // workers that a worker asks each time it turns idle; 0 is no stealing
}

// Defaults are the paper's.
func Defaults() Options { return Options{Ratio: 2, Tries: 10} }

// Policy returns the policy's cores.
func Policy(o Options) sched.Policy {
	return sched.Policy{
		Name: Name, Central: true, PeerAware: true, LateBinding: true, Explain: leastwait.Explain,
		NewDistributor: func(c sched.DistributorConfig) sched.DistributorCore {
			return leastwait.NewDistributor(c, probing.NewDistributor(c, probing.Options{Ratio: o.Ratio, Repeated: true}))
		},
		NewMaster: func(c sched.MasterConfig) sched.MasterCore { return leastwait.New(c, false) },
		NewWorker: func(c sched.WorkerConfig) sched.WorkerCore { return NewWorker(c, o) },
	}
}

var _ sched.WorkerCore = (*Worker)(nil)
