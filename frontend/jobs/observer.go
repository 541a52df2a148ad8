package jobs

import (
	"github.com/pigeon-sched/pigeon/frontend/journal"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// Observer is a feature that follows what happens to jobs. It keeps a row for each job that
// concerns it, and drops it when the job is Ended or Forgotten.
type Observer interface {
	// Observe is called on the owner goroutine with each change, in order. It must not wait.
	Observe(c Change)
}

// Kind is what has happened to a job.
type Kind uint8

// The kinds of changes, with the fields that count beside Job and Now.
const (
	Submitted  Kind = iota // its submission is about to be journaled: an observer may add to it
	Added                  // it is in the table, while its submission is being written
	Granted                // it is in the table, and is of an application's level: nothing is recorded of it
	GrantEnded             // one of the tasks of a Granted job has ended
	Accepted               // its submission is on the disk
	Launching              // Launch, At: a task is launched at a worker that asked for it
	AtNode                 // At: a node has one of its tasks
	Recorded               // Record, Report, Batch: a record of the core, before it is applied
	Late                   // Report: it caused no record; an observer may set Record for the journal to keep
	Freed                  // it is no longer held
	Ended                  // its end is on the disk
	Forgotten              // it has left the table

	Restored // it is in the table again, unfinished in the journal
	Replayed // Record: of the journal, before it is applied
	Former   // Former: it is in the table again, and had ended
	Resumed  // no Job: the journal has been read

	Written    // no Job; Batch: the records up to those of the batch are on the disk
	BatchEnded // no Job: the owner goroutine has handled a batch
)

// Change is something that has happened to a job.
type Change struct {
	Kind   Kind
	Job    *Job
	Now    sched.Time
	Record *journal.Record // valid during the call
	Report *wire.Item      // that ended a task or an attempt; nil for none
	Launch *sched.Message
	At     wire.Ref // a slot, or a node
	Former *journal.Ended
	Batch  uint64
}

// Ends reports whether the change is the end of a task, or was when the journal recorded it.
func (c *Change) Ends() bool {
	return (c.Kind == Recorded || c.Kind == Replayed) && (c.Record.Kind == journal.TaskEnded || c.Record.Kind == journal.TaskReported)
}

// Tries reports whether tasks have new attempts.
func (c *Change) Tries() bool {
	if c.Kind != Recorded && c.Kind != Replayed {
		return false
	}
	return c.Record.Kind == journal.NewAttempt || c.Record.Kind == journal.NewAttempts || c.Record.Kind == journal.Lost
}

// observe tells the observers.
func (t *Table) observe(c Change) { //nolint:gocritic // a copy costs no allocation
	c.Now = t.opts.Clock.Now()
	for _, o := range t.opts.Observers {
		o.Observe(c)
	}
}

// Queue is what an observer delivers once the disk has the records that it is about.
type Queue[T any] struct {
	waiting []queued[T]
}

type queued[T any] struct {
	batch uint64
	value T
}

// Add adds something that is about a record of a batch.
func (q *Queue[T]) Add(batch uint64, value T) {
	q.waiting = append(q.waiting, queued[T]{batch, value})
}

// Written removes what is about the batches up to one, and passes it on in order.
func (q *Queue[T]) Written(batch uint64, deliver func(*T)) {
	n := 0
	for n < len(q.waiting) && q.waiting[n].batch <= batch {
		deliver(&q.waiting[n].value)
		n++
	}
	q.waiting = append(q.waiting[:0], q.waiting[n:]...)
	clear(q.waiting[len(q.waiting) : len(q.waiting)+n])
}
