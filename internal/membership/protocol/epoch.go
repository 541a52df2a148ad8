package protocol

import "github.com/pigeon-sched/pigeon/internal/sched"

// Epoch is the highest that the masters of a group were seen with, and the process that
// has it.
type Epoch struct {
	Number uint64
	Of     int64 // incarnation of the master, 0 when it is not known
}

// Observe records the epoch of a master's answer.
func (e *Epoch) Observe(seen Epoch) {
	if seen.Number > e.Number {
		*e = seen
	}
}

// Raise makes a master of the incarnation work under an epoch above the one that a peer
// reports of an earlier master, and reports whether it changed. An equal number raises
// it too unless it is this master's own: a peer has it from a predecessor that did not
// live long enough to answer other peers with it. At sched.MaxEpoch, which only a forged
// report leads to, the number stays.
func (e *Epoch) Raise(incarnation int64, reported Epoch) (changed bool) {
	if e.Number > 0 && (reported.Number < e.Number || reported.Number == e.Number && reported.Of == incarnation) {
		return false
	}
	*e = Epoch{Number: min(reported.Number, sched.MaxEpoch-1) + 1, Of: incarnation}
	return true
}
