package nodemonitor

import (
	"time"

	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// worker is a worker core of this node with the attempts that are there. It stands
// for one slot, under Kairos for several. It belongs to the owner goroutine.
//
// Invariant: running counts the attempts that run, of which there are at most as
// many as slots.
type worker struct {
	number int32      // on this node: its slot, to other daemons
	self   sched.Addr // what its core is called: the number here, or the cluster's
	ref    wire.Ref
	slots  int
	core   sched.WorkerCore     // nil until the master has numbered it
	done   func(backend.Result) // posts the end of an attempt; made once, not per task

	// Of a slot that a classic backend brought.
	classic bool
	leaving bool   // the backend is gone: the slot goes when what runs has ended
	app     string // the one it serves

	attempts []*attempt                   // in the order in which they came
	byID     map[sched.AttemptID]*attempt // of them; nil while there are few
	running  int
	counted  int      // the kind under which the metrics have it
	question question // what the core has asked a frontend and not heard yet

	// While an Idle is held back, what snapshots tell the master: the sequence
	// number from before, which is no news.
	heldBack bool
	frozen   uint64

	// Of the step in progress.
	launch  *wire.Item // the Launch being stepped
	at      time.Time  // when it came
	refusal string     // the shell's reason to refuse it
	refused bool       // it was refused
	ended   *backend.Result
}

// seq is the sequence number that the master is told; 0 of a core that counts none.
func (w *worker) seq() uint64 {
	if w.heldBack {
		return w.frozen
	}
	if w.core == nil {
		return 0
	}
	return w.core.Slot().Seq
}

// reserved reports whether the worker serves short tasks only, as far as it knows.
func (w *worker) reserved() bool { return w.core != nil && w.core.Slot().Reserved }

// claim is the worker's number in the cluster plus one, 0 while it has none.
func (w *worker) claim(numbered bool) int32 {
	if !numbered || w.core == nil {
		return 0
	}
	return w.self.ID + 1
}

// kind indexes what is counted by kind of slot.
func (w *worker) kind() int {
	if w.reserved() {
		return reservedSlot
	}
	return generalSlot
}

const (
	generalSlot = iota
	reservedSlot
	slotKinds
)

const (
	idleSlot = iota
	busySlot
	slotStates
)

// describe returns the worker as the master is told of it.
func (o *owner) describe(w *worker) wire.Slot {
	s := wire.Slot{
		Slot: w.number, Seq: w.seq(), Reserved: w.reserved(), Fixed: w.classic, Serves: o.serves, Number: w.claim(o.rules.numbered),
	}
	if w.classic {
		s.Serves = []string{w.app}
	}
	first := w.runningNow()
	for _, a := range w.attempts {
		if a != first {
			s.Held = append(s.Held, wire.Held{
				ID: a.id, Class: a.class, App: a.app, Owner: o.nameOf(a.owner), OwnerAddress: a.OwnerAddress, JobName: a.JobName,
				Estimate: a.estimate, Suspended: a.phase == suspended,
			})
		}
	}
	if a := first; a != nil {
		s.Running, s.Class, s.App, s.JobName = a.id, a.class, a.app, a.JobName
		s.Owner, s.OwnerAddress = o.nameOf(a.owner), a.OwnerAddress
		s.Estimate, s.Ran = a.estimate, sched.Time(a.service())
	}
	return s
}

// nameOf returns the name of a frontend; launches of others are not taken.
func (o *owner) nameOf(a sched.Addr) wire.Ref { return o.results.Frontend(a) }
