package probing

import "github.com/pigeon-sched/pigeon/internal/sched"

// Slot implements [sched.WorkerCore]: the worker keeps no state that its master follows.
func (w *Worker) Slot() sched.SlotView { return sched.SlotView{} }

// Holds reports whether the slot runs the attempt, or that it waits there: assigned by
// a central scheduler and not started. It looks at the whole queue.
func (w *Worker) Holds(id sched.AttemptID) bool {
	if w.busy && w.current == id {
		return true
	}
	for i := range w.queue.Len() {
		if e := w.queue.At(i); e.Assigned() && e.ID() == id {
			return true
		}
	}
	return false
}
