package pigeon

import (
	"slices"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Worker is one slot: it runs one task at a time and decides last what it accepts
// (docs/design.md, section 2, rule 4).
//
// The sequence number grows with every change of the slot's state, so an outdated
// notice or launch is recognised.
type Worker struct {
	cfg           sched.WorkerConfig
	seq           uint64
	epoch         uint64 // the highest received from a master
	kindSet       stamp  // of the last SetReserved
	reserved      bool
	busy          bool
	companion     bool // another slot leads the attempt
	distributor   sched.Addr
	current       sched.AttemptID // running, or the last that ran
	endSeq        uint64          // the sequence number that its end made, 0 before the first end
	held          []suspended     // in the order in which they were suspended
	yielded       sched.AttemptID // was stopped, to be started again elsewhere
	namesAttempts bool            // Idle names attempts
}

// suspended is an attempt that the slot has stopped and will continue.
type suspended struct {
	sched.AttemptID
	distributor sched.Addr
}

// stamp orders messages of masters of successive epochs.
type stamp struct{ epoch, seq uint64 }

func (a stamp) before(b stamp) bool {
	return a.epoch < b.epoch || (a.epoch == b.epoch && a.seq < b.seq)
}

// NewWorker returns an idle slot.
func NewWorker(cfg sched.WorkerConfig) *Worker {
	return &Worker{cfg: cfg, seq: cfg.Seq, reserved: cfg.Reserved}
}

// NewWorkerWith returns an idle slot with options.
func NewWorkerWith(cfg sched.WorkerConfig, o Options) *Worker {
	w := NewWorker(cfg)
	w.namesAttempts = o.Suspend
	return w
}

// Slot implements [sched.WorkerCore].
func (w *Worker) Slot() sched.SlotView {
	v := sched.SlotView{Seq: w.seq, Epoch: w.epoch, Reserved: w.reserved}
	if w.busy {
		v.Running = w.current
	}
	return v
}

// Step implements [sched.Core].
func (w *Worker) Step(_ sched.Time, from sched.Addr, m *sched.Message, out *sched.Actions) {
	if !m.Valid() {
		return
	}
	switch m.Kind {
	case sched.Launch:
		w.launch(from, m, out)
	case sched.Kill:
		w.stop(m.AttemptID(), out)
	case sched.Yield:
		if w.stop(m.AttemptID(), out) {
			w.yielded = m.AttemptID()
		}
	case sched.Preempt:
		w.preempt(from, m, out)
	case sched.Continue:
		w.continueSuspended(from, m, out)
	case sched.SetReserved:
		if at := (stamp{m.Epoch, m.Seq}); m.Epoch >= w.epoch && w.kindSet.before(at) {
			w.epoch, w.kindSet, w.reserved = m.Epoch, at, m.Reserved
		}
	case sched.Ended:
		w.ended(m, out)
	}
}

// stop stops an attempt that runs or is suspended here; false when there is none.
func (w *Worker) stop(id sched.AttemptID, out *sched.Actions) bool {
	if w.busy && w.current == id {
		if w.companion { // nothing runs for it here
			w.free(out)
			return true
		}
		w.act(sched.Stop, out)
		return true
	}
	at := w.suspendedAt(id)
	if at < 0 {
		return false
	}
	w.actOn(sched.Stop, id, w.held[at].distributor, out)
	return true
}

func (w *Worker) act(kind sched.ActionKind, out *sched.Actions) {
	w.actOn(kind, w.current, w.distributor, out)
}

func (w *Worker) actOn(kind sched.ActionKind, id sched.AttemptID, distributor sched.Addr, out *sched.Actions) {
	m := out.Do(kind)
	m.Job, m.First, m.Attempt, m.Distributor = id.Job, id.Task, id.Attempt, distributor
}

func (w *Worker) launch(from sched.Addr, m *sched.Message, out *sched.Actions) {
	switch {
	case m.Attempt < 1:
		return
	case w.isRepetition(m):
		return
	case m.Epoch < w.epoch:
		w.refuse(from, m, sched.RefusedEpoch, out)
	case w.busy:
		w.refuse(from, m, sched.RefusedBusy, out)
	case m.Seq != w.seq || m.Reason != "":
		w.refuseIdle(from, m, sched.RefusedChanged, out)
	case w.reserved && m.Class != sched.Short:
		w.refuseIdle(from, m, sched.RefusedReserved, out)
	default:
		w.epoch = m.Epoch
		w.seq++
		w.busy, w.current, w.distributor, w.companion = true, m.AttemptID(), m.Distributor, m.Companion
		if !w.companion {
			w.act(sched.Start, out)
		}
	}
}

// isRepetition reports whether the launch was accepted before.
func (w *Worker) isRepetition(m *sched.Message) bool {
	id := m.AttemptID()
	return (id == w.current && (w.busy || m.Seq < w.seq)) || w.holds(id)
}

// refuse refuses a launch, with the reason of the shell ([sched.Message.Deny]) if there
// is one.
func (w *Worker) refuse(from sched.Addr, m *sched.Message, why sched.Refusal, out *sched.Actions) {
	r := out.Send(from, sched.Refused)
	r.Job, r.First, r.Attempt, r.Seq, r.Reason = m.Job, m.First, m.Attempt, w.seq, m.Reason
	if m.Reason == "" {
		r.Reason = why.String()
	}
}

// refuseIdle refuses for a slot that is idle: a new idle notice follows, since
// the master has recorded the slot as busy.
func (w *Worker) refuseIdle(from sched.Addr, m *sched.Message, why sched.Refusal, out *sched.Actions) {
	w.seq++
	w.refuse(from, m, why, out)
	w.idle(from, sched.AttemptID{}, out)
}

// ended reports the end to the distributor, and to the master that the slot is idle.
func (w *Worker) ended(m *sched.Message, out *sched.Actions) {
	id := m.AttemptID()
	if at := w.suspendedAt(id); at >= 0 {
		w.report(w.held[at].distributor, m, out)
		w.held = slices.Delete(w.held, at, at+1)
		return
	}
	if !w.busy || w.current != id {
		return
	}
	if !w.companion {
		w.seq++
		w.busy, w.endSeq = false, w.seq
		w.report(w.distributor, m, out)
		w.idle(w.cfg.Master, id, out)
		return
	}
	w.free(out)
}

// free ends the attempt of a companion, which its lead reports.
func (w *Worker) free(out *sched.Actions) {
	w.seq++
	w.busy, w.companion, w.endSeq = false, false, w.seq
	w.idle(w.cfg.Master, w.current, out)
}

// idle reports that the slot is free; where tasks are suspended, with the attempt that
// ended and those that are suspended.
func (w *Worker) idle(to sched.Addr, left sched.AttemptID, out *sched.Actions) {
	m := out.Send(to, sched.Idle)
	m.Seq = w.seq
	if !w.namesAttempts {
		return
	}
	m.Job, m.First, m.Attempt = left.Job, left.Task, left.Attempt
	for i := range w.held {
		m.Kept = append(m.Kept, w.held[i].AttemptID)
	}
}

func (w *Worker) report(distributor sched.Addr, m *sched.Message, out *sched.Actions) {
	r := out.Send(distributor, sched.Report)
	r.Job, r.First, r.Attempt, r.Outcome, r.Reason = m.Job, m.First, m.Attempt, m.Outcome, m.Reason
	if m.Outcome == sched.Killed && m.AttemptID() == w.yielded {
		r.Outcome = sched.Yielded
	}
}

// Holds reports whether the slot runs the attempt, or has it suspended.
func (w *Worker) Holds(id sched.AttemptID) bool {
	return (w.busy && w.current == id) || w.holds(id)
}

// holds reports whether the slot has suspended the attempt.
func (w *Worker) holds(id sched.AttemptID) bool { return w.suspendedAt(id) >= 0 }

// suspendedAt returns the place of the attempt among those that are suspended, -1 for
// none.
func (w *Worker) suspendedAt(id sched.AttemptID) int {
	return slices.IndexFunc(w.held, func(h suspended) bool { return h.AttemptID == id })
}
