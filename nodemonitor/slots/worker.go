package slots

import (
	"time"

	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend"
	"github.com/pigeon-sched/pigeon/nodemonitor/results"
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

// Describe returns the slots for a snapshot, or for a hello: that names the attempts whose
// results are kept as well.
func (s *Workers) Describe(hello bool) []wire.Slot {
	if s.stopping {
		return nil
	}
	slots := make([]wire.Slot, 0, len(s.list))
	at := make([]int, len(s.list))
	for i, w := range s.list {
		at[i] = -1
		if w != nil && !w.leaving {
			at[i] = len(slots)
			slots = append(slots, s.describe(w))
		}
	}
	if hello && len(slots) > 0 {
		s.addKept(slots, at)
	}
	return slots
}

// maxKeptNamed bounds the kept results named in a hello. A master that has not learned of
// one may launch its attempt again; the node answers with the result.
const maxKeptNamed = 50_000

// addKept adds the attempts that ended here and are not acknowledged, each to its slot,
// or to the first when that is gone. at has the index of a worker's slot.
func (s *Workers) addKept(slots []wire.Slot, at []int) {
	named := 0
	s.cfg.Kept.EachKept(func(r *results.Result) bool {
		if named++; named > maxKeptNamed {
			return false
		}
		d := &slots[max(0, at[r.Slot])]
		d.Kept = append(d.Kept, r.ID)
		return true
	})
}

// describe returns one worker.
func (s *Workers) describe(w *worker) wire.Slot {
	d := wire.Slot{
		Slot: w.number, Seq: w.seq(), Reserved: w.reserved(), Fixed: w.classic, Serves: s.serves, Number: w.claim(s.cfg.Policy.SingleMaster()),
	}
	if w.classic {
		d.Serves = []string{w.app}
	}
	first := w.firstRunning()
	for _, a := range w.attempts.list {
		if a != first {
			d.Held = append(d.Held, wire.Held{
				ID: a.id, Class: a.class, App: a.app, Owner: s.nameOf(a.owner), OwnerAddress: a.OwnerAddress, JobName: a.JobName,
				Estimate: a.estimate, Suspended: a.phase == suspended,
			})
		}
	}
	if a := first; a != nil {
		d.Running, d.Class, d.App, d.JobName = a.id, a.class, a.app, a.JobName
		d.Owner, d.OwnerAddress = s.nameOf(a.owner), a.OwnerAddress
		d.Estimate, d.Ran = a.estimate, sched.Time(a.service())
	}
	return d
}

// nameOf returns the name of a frontend; launches of others are not accepted.
func (s *Workers) nameOf(a sched.Addr) wire.Ref {
	ref, _ := s.cfg.Names.Ref(a)
	return ref
}
