package slots

import (
	"time"

	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// worker is a worker core of this node with the attempts that are there. It stands
// for one slot, under Kairos for several.
//
// Invariant: running counts the attempts that run, of which there are at most as
// many as slots.
type worker struct {
	number int32      // on this node: its slot, to other daemons
	self   sched.Addr // address of its core: the number here, or the cluster's
	ref    wire.Ref
	slots  int
	core   sched.WorkerCore     // nil until the master has numbered it
	done   func(backend.Result) // posts the end of an attempt; made once, not per task

	// Of a slot that a classic backend brought.
	classic bool
	leaving bool   // the backend is gone: the slot goes when what runs has ended
	app     string // the one it serves

	attempts attemptList
	running  int
	counted  int     // the kind under which the metrics have it
	request  request // of the core to a frontend, not answered yet

	// While an Idle is withheld, snapshots report the sequence number from before,
	// which the master has already.
	withheld    bool
	reportedSeq uint64

	stepped
}

// stepped is what the step in progress is about, beside its message.
type stepped struct {
	launch  *wire.Item // the Launch
	at      time.Time  // when it came
	denial  string     // the shell's reason to deny it
	refused bool       // it was refused
	ended   *backend.Result
}

// seq returns the sequence number that the master gets; 0 of a core that counts none.
func (w *worker) seq() uint64 {
	if w.withheld {
		return w.reportedSeq
	}
	if w.core == nil {
		return 0
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
