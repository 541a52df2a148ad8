package pigeon

import "github.com/pigeon-sched/pigeon/internal/sched"

// preempt suspends what runs and runs another task. The master knows the slot as
// it was before the launch of what runs, at m.Seq; that made one change. If the
// task has ended since, which made another, there is nothing to suspend, and the
// master will learn of the end from the idle notice on its way.
func (w *Worker) preempt(from sched.Addr, m *sched.Message, out *sched.Actions) {
	switch {
	case m.Attempt < 1 || m.AttemptID() == w.current:
		return // came again
	case m.Epoch < w.epoch:
		w.refuse(from, m, "the master's epoch is over", out)
		return
	case w.busy && m.Seq+1 == w.seq && w.held.Attempt == 0:
		w.held = suspended{w.current, w.owner}
		w.act(sched.Suspend, out)
	case !w.busy && m.Seq+2 == w.seq:
	case w.busy:
		w.refuse(from, m, "the slot is busy with another task", out)
		return
	default:
		w.turnDown(from, m, "the slot has changed since", out)
		return
	}
	w.epoch = m.Epoch
	w.seq++
	w.busy, w.current, w.owner = true, m.AttemptID(), m.Owner
	w.act(sched.Start, out)
}

// proceed goes on with the suspended attempt. A slot that does not hold it says
// that it is free, so that the master does not wait for it.
func (w *Worker) proceed(from sched.Addr, m *sched.Message, out *sched.Actions) {
	switch {
	case w.busy || m.Epoch < w.epoch:
	case w.held.Attempt == 0 || w.held.AttemptID != m.AttemptID() || m.Seq != w.seq:
		w.seq++
		out.Send(from, sched.Idle).Seq = w.seq
	default:
		w.epoch = m.Epoch
		w.seq++
		w.busy, w.current, w.owner = true, w.held.AttemptID, w.held.owner
		w.held = suspended{}
		w.act(sched.Resume, out)
	}
}
