// Package groupview is what a master core shows of itself between two steps, in
// words that all policies share: for status, metrics and explain. Nothing is
// decided by it.
//
// A policy without classes or reserved workers leaves the second of a pair at zero;
// what it does not know is Unknown.
package groupview

import (
	"github.com/pigeon-sched/pigeon/internal/queue"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Unknown stands for a number, or an instant, that the core cannot tell.
const Unknown = -1

// Totals are the figures of the whole group.
type Totals struct {
	Queued   [sched.NumClasses]int        // tasks that wait for a worker
	Oldest   [sched.NumClasses]sched.Time // since when the first of them waits, Unknown without one
	Workers  [queue.NumKinds]int
	Idle     [queue.NumKinds]int // Unknown where workers get tasks from others as well
	Launches uint64
	Lost     uint64 // attempts whose worker went away
	Refused  uint64 // launches that a worker did not accept
}

// Worker is one worker.
type Worker struct {
	Reserved bool
	Tasks    int // at it: running, suspended or queued there; Unknown as above
}

// Job is what the group holds of a job.
type Job struct {
	Queued  int
	Running int    // tasks at workers
	Tasks   []Task // the first of those
}

// Task is an attempt at a worker.
type Task struct {
	Task, Attempt int32
	Worker        sched.Addr
}
