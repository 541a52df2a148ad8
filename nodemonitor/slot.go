package nodemonitor

import (
	"time"

	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// slot is a worker of this node with what its core does not know. It belongs to
// the owner goroutine.
//
// Invariant: run is set exactly while the core runs something.
type slot struct {
	number int32
	addr   sched.Addr
	ref    wire.Ref
	core   slotCore
	done   func(backend.Result) // posts the end of an attempt; made once, not per task

	// Of a slot that a classic backend brought.
	classic bool
	leaving bool   // the backend is gone: the slot goes when what runs has ended
	app     string // the one it serves

	run   *running // nil while idle, else &store
	store running

	// While an Idle is held back, what snapshots tell the master: the sequence
	// number from before, which is no news.
	held   bool
	frozen uint64

	// Of the step in progress.
	launch  *wire.Item // the Launch being stepped
	at      time.Time  // when it came
	refusal string     // the shell's reason to refuse it
	refused bool       // it was refused
	ended   *backend.Result
}

// running is what a slot runs.
type running struct {
	wire.Extra // of the launch
	id         sched.AttemptID
	class      sched.Class
	app        string
	owner      sched.Addr
	received   time.Time
	backend    backend.Backend // nil for an attempt that is known already
	twin       bool            // the attempt is known already: nothing was started
	killed     bool            // its end was asked for
}

// shownSeq is the sequence number that snapshots show.
func (s *slot) shownSeq() uint64 {
	if s.held {
		return s.frozen
	}
	return s.core.Seq()
}

// kind indexes what is counted by kind of slot.
func (s *slot) kind() int {
	if s.core.Reserved() {
		return reservedSlot
	}
	return generalSlot
}

const (
	generalSlot = iota
	reservedSlot
	slotKinds
)

// wire gives the slot as the master is told of it.
func (s *slot) wire(frontends []*frontend, serves []string) wire.Slot {
	w := wire.Slot{Slot: s.number, Seq: s.shownSeq(), Reserved: s.core.Reserved(), Fixed: s.classic, Serves: serves}
	if s.classic {
		w.Serves = []string{s.app}
	}
	if r := s.run; r != nil {
		w.Running, w.Class, w.App, w.JobName = r.id, r.class, r.app, r.JobName
		w.Owner, w.OwnerAddress = frontends[r.owner.ID].ref, r.OwnerAddress
	}
	return w
}
