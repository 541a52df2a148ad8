package pigeon

import (
	"slices"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// preempt suspends the attempt that the master names and runs another task. The
// master knows the slot as it was before that attempt began, at m.Seq; its beginning
// made one change. If it has ended since, which made another, there is nothing to
// suspend, and the idle notice in transit reports the end to the master. Any other change,
// such as the refusal of this very message before it was repeated, makes it outdated.
func (w *Worker) preempt(from sched.Addr, m *sched.Message, out *sched.Actions) {
	switch {
	case m.Attempt < 1 || len(m.Kept) != 1:
		return
	case w.isRepetition(m):
		if !w.busy { // its end was reported before, to a master that may have forgotten it
			w.seq++
			w.idle(from, m.AttemptID(), out)
		}
		return
	case m.Epoch < w.epoch:
		w.refuse(from, m, sched.RefusedEpoch, out)
		return
	case m.Reason == "" && w.busy && !w.companion && w.current == m.Kept[0] && m.Seq+1 == w.seq && len(w.held) < mostSuspended:
		w.held = append(w.held, suspended{w.current, w.distributor})
		w.act(sched.Suspend, out)
	case m.Reason == "" && !w.busy && w.current == m.Kept[0] && m.Seq+2 == w.seq && w.seq == w.endSeq:
	case w.busy:
		w.refuse(from, m, sched.RefusedBusyOther, out)
		return
	default:
		w.refuseIdle(from, m, sched.RefusedChanged, out)
		return
	}
	w.epoch = m.Epoch
	w.seq++
	w.busy, w.current, w.distributor, w.companion = true, m.AttemptID(), m.Distributor, false
	w.act(sched.Start, out)
}

// continueSuspended continues the suspended attempt. A slot that no longer has it
// reports that it is free and names it, so that the master does not wait for it.
// A slot into which an earlier master has launched meanwhile stops the attempt, since
// it would never be continued.
func (w *Worker) continueSuspended(from sched.Addr, m *sched.Message, out *sched.Actions) {
	id := m.AttemptID()
	switch {
	case m.Epoch < w.epoch || (w.current == id && (w.busy || m.Seq < w.seq)):
	case w.busy:
		if w.holds(id) && m.Seq+1 == w.seq {
			w.stop(id, out)
		}
	case w.holds(id):
		w.epoch = m.Epoch
		w.seq++
		at := w.suspendedAt(id)
		w.busy, w.current, w.distributor = true, id, w.held[at].distributor
		w.held = slices.Delete(w.held, at, at+1)
		w.act(sched.Resume, out)
	default:
		w.seq++
		w.idle(from, id, out)
	}
}
