package pigeon

import (
	"slices"

	"github.com/pigeon-sched/pigeon/internal/queue"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// mostSuspended is how many tasks a slot can have suspended: one, and others below tasks
// of undeclared jobs. Each is a process that keeps its memory.
const mostSuspended = 4

// held is a task that a worker has suspended.
type held struct {
	work
	stint stint
	bill  bill
	at    sched.Time // since when, or since its worker registered here with it
}

// room returns how many suspended tasks the worker may have, its current one included.
func (w *worker) room() int {
	if undeclared(w.job) {
		return mostSuspended
	}
	return 1
}

// hold records that the worker has suspended a task.
func (e *extension) hold(w *worker, h *held) {
	h.at = e.now
	w.held = append(w.held, h)
	f := e.facts[h.job]
	f.held++
	f.suspended += h.stint.attained
}

// release removes the record of a task that the worker has suspended.
func (e *extension) release(w *worker, h *held) {
	w.held = slices.DeleteFunc(w.held, func(o *held) bool { return o == h })
	f := e.facts[h.job]
	f.held--
	f.suspended -= h.stint.attained
	e.changed(w, h.job)
}

// holding returns the record of the attempt if the worker has it suspended, else nil.
func (w *worker) holding(id sched.AttemptID) *held {
	for _, h := range w.held {
		if h.id() == id {
			return h
		}
	}
	return nil
}

// nextHeld returns the suspended task that the worker continues first: the one with
// the smallest index, of equal ones the one suspended first.
func (e *extension) nextHeld(w *worker) (first *held) {
	var least float64
	for _, h := range w.held {
		if len(w.held) == 1 {
			return h
		}
		if v := e.indexOf(h.job, h.stint.attained); first == nil || v < least {
			first, least = h, v
		}
	}
	return first
}

// suspended implements hooks.
func (e *extension) suspended(j *queue.Job) int32 { return e.facts[j].held }

// eachSuspended implements hooks.
func (e *extension) eachSuspended(j *queue.Job, f func(task, attempt int32)) {
	e.eachHeld(j, func(_ *worker, h *held) { f(h.task, h.attempt) })
}

// eachHeld calls f, which may release them, for the suspended tasks of the job, in the
// order of workers.
func (e *extension) eachHeld(j *queue.Job, f func(*worker, *held)) {
	if e.suspended(j) == 0 {
		return
	}
	for _, w := range e.workers {
		if w == nil {
			continue
		}
		for _, h := range slices.Backward(w.held) {
			if h.job == j {
				f(w, h)
			}
		}
	}
}

// jobDropped implements hooks: suspended tasks are stopped.
func (e *extension) jobDropped(j *queue.Job, first, count int32, out *sched.Actions) {
	e.facts[j].dropped = true
	e.eachHeld(j, func(w *worker, h *held) {
		if h.task < first || h.task-first >= count {
			return
		}
		e.closeBill(&h.bill, true)
		e.release(w, h)
		e.kill(w, h.id(), out)
	})
}
