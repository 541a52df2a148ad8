package pigeon

import "github.com/pigeon-sched/pigeon/internal/sched"

// Holds reports whether the slot runs the attempt, or has it suspended.
func (w *Worker) Holds(id sched.AttemptID) bool {
	return (w.busy && w.current == id) || w.holds(id)
}

// holds reports whether the slot has suspended the attempt.
func (w *Worker) holds(id sched.AttemptID) bool {
	return w.held.Attempt > 0 && w.held.AttemptID == id
}
