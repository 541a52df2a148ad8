// Package peacock is the rival "Peacock: Probe-Based Scheduling of Jobs by
// Rotating Between Elastic Queues" (Euro-Par 2018): probes wait in short queues
// that put themselves in order, and probes that do not fit move on around a ring.
//
//	distributor ──Probe──▶ worker ──Rotated──▶ its successor ──▶ …
//	     ▲  │ ▲              │ head of the queue, when the slot is free
//	     │  │ └──GetTask─────┘
//	     │  └────Launch, or NoTask──▶ worker ──Report──▶ distributor
//	     └──LoadShare── the other distributors
//
// There is no master. A job sends one probe per task. A probe fixes no task: the
// worker asks for one when the probe is at the head and the slot is free.
//
// # A worked example
//
// Average load 10 s over the cluster; a worker runs a task with 4 s to go, and a
// probe L of 6 s waits (arrived at 0, threshold 10 s: deadline 10 s). At 2 s a
// probe S of 1 s with threshold 10 s arrives: it is shorter, and 2 s + 1 s is
// within L's deadline, so it passes L and is first; its wait is 4 s. M of 7 s
// arrives at 2 s too: it is longer than L and stays behind it; its wait of 4 + 1 +
// 6 = 11 s would end at 13 s, after its deadline of 12 s, so it is marked and
// leaves at the next tick.
//
// # What the paper leaves open
//
// The printed algorithm's line 5 has the inequality reversed against its own text;
// the text is meant. Two points of line 21 are decided by the paper's figures, which
// its letter ([Options.Printed]) does not give. Its queue size counts the probes of the
// cluster, so it is compared with what waits and runs here, not with what waits. And the
// work of a probe that waits alone does not mark it: line 26 lets a probe of the
// average load or more in, line 21 would throw it out, and it could wait nowhere.
//
// An idle worker serves a marked probe rather than none. Probes of equal arrival, as
// those of one job are, count as later than those that wait. A job's threshold is the
// average load before it was added itself, and stays; a distributor that started again
// takes it anew. With the job added, its figures under heavy load are below the paper's.
//
// A worker keeps the most recent shared state. What rotates carries its state's age:
// a predecessor's may be older, and would go around the ring in place of later ones.
//
// # What a wire adds
//
// An arrival travels between daemons as an age, since clocks of hosts are not
// compared; the age does not include the message's own delay. A probe moves on a thousand
// times and more, and a hundredth of an interval lost each time would make the short
// jobs' 99th percentile 15 % longer. A batch therefore carries the instant of its
// tick in the same form, which lacks the same delay as its probes' ages. Probes of
// one job still differ by the delay of the first message to each worker, and count as
// equal all the same; a microsecond between them would have the effect of that
// hundredth.
//
// # Failures
//
// The paper does not treat them. The probes in the queue of a lost worker are lost
// with it, and it is not known which these were, so each distributor sends a probe for every task
// that it has not launched; those that turn out to be too many find no task. The
// worker's attempts are lost and tried again the same way. A batch that rotates
// is kept until the successor has it, and is sent to the next one when the successor is lost.
// A distributor that starts again probes for all that its journal owes and that
// no worker reports to run. A worker that waits for the answer of a lost
// distributor receives a NoTask from its own shell.
package peacock

import "github.com/pigeon-sched/pigeon/internal/sched"

// Name is the name under which users choose the policy.
const Name = "peacock"

// Options are the policy's own numbers.
type Options struct {
	// Interval is how often marked probes move on; the ticks are its multiples.
	// 0 is a twentieth of the cutoff. The paper has 1 s, on traces whose cutoff is
	// 1129 s.
	Interval sched.Time
	// Printed follows line 21 of the printed algorithm to the letter, under which a
	// loaded cluster may stop to improve: every queue is full, and all rotate.
	Printed bool
}

// Policy returns the policy's cores.
func Policy(o Options) sched.Policy {
	return sched.Policy{
		Name:           Name,
		PeerAware:      true,
		LateBinding:    true,
		NewDistributor: func(c sched.DistributorConfig) sched.DistributorCore { return NewDistributor(c) },
		NewWorker:      func(c sched.WorkerConfig) sched.WorkerCore { return NewWorker(c, o) },
	}
}

var (
	_ sched.DistributorCore = (*Distributor)(nil)
	_ sched.WorkerCore      = (*Worker)(nil)
)
