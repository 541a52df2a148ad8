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

	// While a Refused is on its way to the master, or an Idle is held back, the
	// master must not learn the slot's sequence number by another way: it would
	// take the refused task for one that ended.
	unconfirmed []sched.AttemptID // Refused that the master has not taken yet
	held        bool              // an Idle waits until there is room for results
	frozen      uint64            // what snapshots show meanwhile

	// Of the step in progress.
	launch  *wire.Item // the Launch being stepped
	at      time.Time  // when it came
	refusal string     // the shell's reason to refuse it
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
}

// shownSeq is the sequence number that the master may learn out of order.
func (s *slot) shownSeq() uint64 {
	if s.isFrozen() {
		return s.frozen
	}
	return s.core.Seq()
}

// isFrozen says that the master must not learn the sequence number out of order.
func (s *slot) isFrozen() bool { return len(s.unconfirmed) > 0 || s.held }

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
