package slots

import (
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// worker is a worker core of this node with its attempts. It is one slot, under Kairos
// several.
//
// Invariant: running counts the attempts that run, at most as many as slots.
type worker struct {
	number int32      // on this node: its slot, to other daemons
	self   sched.Addr // address of its core: the number here, or the cluster's
	ref    wire.Ref
	slots  int
	// firstSeq is where the core's sequence numbers begin.
	firstSeq uint64
	core     sched.WorkerCore     // nil until the master has numbered it
	done     func(backend.Result) // posts the end of an attempt; made once, not per task

	// These are set for the slot of a classic backend.
	classic bool
	leaving bool   // the backend was removed: so is the slot when its attempts have ended
	app     string // that it serves

	attempts attemptList
	running  int
	counted  int              // the kind under which the metrics count it
	request  request          // of the core to a frontend, not answered yet
	early    []backend.Result // ends of its attempts that wait for its core, one of each at most

	withdrawn bool // of a drain: nothing is left here, and snapshots do not list it

	// While an Idle is withheld, snapshots report the sequence number before it, which
	// the master has already.
	withheld    bool
	deniedTo    sched.Addr // the frontend whose launch was denied last
	reportedSeq uint64
}

// seq returns the sequence number that is reported to the master; 0 for a core that has
// none.
func (w *worker) seq() uint64 {
	if w.withheld {
		return w.reportedSeq
	}
	if w.core == nil {
		return w.firstSeq + uint64(len(w.attempts.list)) // as the core will have it
	}
	return w.core.Slot().Seq
}

// reserved reports whether the worker serves short tasks only.
func (w *worker) reserved() bool { return w.core != nil && w.core.Slot().Reserved }

// claim returns the worker's number in the cluster plus one, 0 while it has none.
func (w *worker) claim(numbered bool) int32 {
	if !numbered || w.core == nil {
		return 0
	}
	return w.self.ID + 1
}

// firstRunning returns the first of the attempts that run, nil for none.
func (w *worker) firstRunning() *attempt {
	for _, a := range w.attempts.list {
		if a.phase == running {
			return a
		}
	}
	return nil
}
