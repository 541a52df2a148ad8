// Package eagle is "Job-aware Scheduling in Eagle: Divide and Stick to Your
// Probes" (SoCC 2016) as the Pigeon paper compares with it. Long jobs go the way
// of Hawk (package leastwait), and nothing is stolen. Short jobs:
//
//	distributor ──Probe──▶ worker          ceil(2F), at least 20, drawn with repetition
//	distributor ◀─Rejected─ worker         it has long work; its bitmap comes along
//	distributor ──Probe──▶ another         second try: outside the newest bitmap
//	distributor ──Probe──▶ reserved one    third try: taken without asking
//
// # Succinct state sharing (section 4.1)
//
// The bitmap marks the workers that run or queue long work. The central scheduler
// stamps it and sends it along with long tasks, as it was before that job was
// placed; a worker keeps the newest it got, a distributor the newest it was
// returned. Where the paper is silent: a distributor answers each rejection as it
// comes, with the newest bitmap it has then, and the bitmap stays for its next
// jobs; when the bitmap leaves no worker, the reserved ones stand in.
//
// # Sticky batch probing (section 4.2) and order (section 4.3)
//
// A reservation that got a task stays in its place, and is considered again when
// the task ends, until its job has no unbound task. A worker serves the reservation
// of its queue with the least remaining work (estimate x unbound tasks, as its
// distributor sent last), but one may overtake only if its estimate is at most the
// smallest slack of the short reservations ahead of it; slack is 5 x the
// reservation's estimate less the delay already imposed on it. Long work at the
// head is always taken; where long work elsewhere is the best so far, what is behind it is
// not considered. All reservations ahead of the pick are charged its estimate.
//
// Worked numbers: A (estimate 1 s, 10 tasks left), B (2 s, 1 task), C (6 s, 1 task)
// wait in this order. B has the least remaining work (2 s) and fits A's slack of
// 5 s; A's slack is 3 s afterwards. C (6 s) fits no slack and waits.
//
// The charge is made when the task starts, not when the worker asks: a reservation
// that finds no task left has delayed none.
package eagle

import (
	"github.com/pigeon-sched/pigeon/internal/policy/leastwait"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Name is the name under which users choose the policy.
const Name = "eagle"

// Options are Eagle's own numbers.
type Options struct {
	Ratio float64 // probes for each short task
	Least int     // probes for each short job, at least
	Slack float64 // how many times its estimate a reservation may be delayed
}

// Defaults are the paper's.
func Defaults() Options { return Options{Ratio: 2, Least: 20, Slack: 5} }

// Policy returns the policy's cores.
func Policy(o Options) sched.Policy {
	return sched.Policy{
		Name: Name, Central: true, LateBinding: true, Explain: leastwait.Explain,
		NewDistributor: func(c sched.DistributorConfig) sched.DistributorCore {
			return leastwait.NewDistributor(c, NewDistributor(c, o))
		},
		NewMaster: func(c sched.MasterConfig) sched.MasterCore { return leastwait.New(c, true) },
		NewWorker: func(c sched.WorkerConfig) sched.WorkerCore { return NewWorker(c, o) },
	}
}

var (
	_ sched.DistributorCore = (*Distributor)(nil)
	_ sched.WorkerCore      = (*Worker)(nil)
)
