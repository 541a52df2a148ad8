package probing

import (
	"iter"
	"slices"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Entry is one entry of a worker's queue: a reservation, or a task that a central
// scheduler has assigned to it (Attempt is not 0 then).
type Entry struct {
	sched.Probed
	First   int32
	Attempt int32
	Delay   sched.Time // imposed by those that overtook it (eagle)
}

// Assigned reports whether the entry is a task and no reservation.
func (e *Entry) Assigned() bool { return e.Attempt != 0 }

// ID names the assigned task's attempt.
func (e *Entry) ID() sched.AttemptID {
	return sched.AttemptID{Job: e.Job, Task: e.First, Attempt: e.Attempt}
}

// Queue holds entries in order of arrival, in runs of up to 64. Taking one costs no more
// than its run and the number of runs, and an order may keep in each run what spares it a look
// at the entries: thousands wait at a worker that few others share their load with.
type Queue struct {
	runs []Run // none is empty but the only one
	size int
}

// runLength is the most entries of a run.
const runLength = 64

// Run is a part of a queue.
type Run struct {
	// Summary is what an order has found in the entries. It is not Known when they have
	// changed since.
	Summary Summary

	list []Entry
	head int
}

// Summary are the least values of a run's entries.
type Summary struct {
	Known                 bool
	Work, Estimate, Slack sched.Time
}

// Entries returns the entries, the first one to be served first.
func (r *Run) Entries() []Entry { return r.list[r.head:] }

// Len returns the number of entries.
func (q *Queue) Len() int { return q.size }

// Runs returns the parts of the queue in order.
func (q *Queue) Runs() []Run { return q.runs }

// find returns the run of an entry, and its place there.
func (q *Queue) find(i int) (run, at int) {
	for run = range q.runs {
		n := len(q.runs[run].list) - q.runs[run].head
		if i < n {
			return run, i
		}
		i -= n
	}
	panic("probing: an entry beyond the end of a queue")
}

// At returns an entry, 0 being the head. The pointer is valid until the queue
// changes; what is written is followed by Changed.
func (q *Queue) At(i int) *Entry {
	run, at := q.find(i)
	return &q.runs[run].Entries()[at]
}

// All yields the entries and their places, the head first. The queue may not change
// meanwhile. It costs a step for each entry, where a loop over At searches the runs for each.
func (q *Queue) All() iter.Seq2[int, *Entry] {
	return func(yield func(int, *Entry) bool) {
		i := 0
		for run := range q.runs {
			list := q.runs[run].Entries()
			for k := range list {
				if !yield(i, &list[k]) {
					return
				}
				i++
			}
		}
	}
}

// Changed says that the entry at i has been written to.
func (q *Queue) Changed(i int) {
	run, _ := q.find(i)
	q.runs[run].Summary.Known = false
}

// Push puts an entry at the tail.
func (q *Queue) Push(e Entry) {
	if n := len(q.runs); n == 0 || len(q.runs[n-1].Entries()) == runLength {
		q.runs = append(q.runs, Run{})
	}
	q.runs[len(q.runs)-1].push(e)
	q.size++
}

// Remove removes the entries from i to below end.
func (q *Queue) Remove(i, end int) {
	q.size -= end - i
	for left := end - i; left > 0; {
		run, at := q.find(i)
		r := &q.runs[run]
		n := min(left, len(r.Entries())-at)
		r.remove(at, at+n)
		left -= n
		if len(r.Entries()) == 0 && len(q.runs) > 1 {
			q.runs = slices.Delete(q.runs, run, run+1)
		}
	}
}

func (r *Run) push(e Entry) {
	if len(r.list) == cap(r.list) && r.head > len(r.list)/2 {
		n := copy(r.list, r.list[r.head:])
		clear(r.list[n:])
		r.list, r.head = r.list[:n], 0
	}
	r.list = append(r.list, e)
	r.Summary.Known = false
}

// remove removes the entries from i to below end.
func (r *Run) remove(i, end int) {
	r.Summary.Known = false
	if i < len(r.list)-r.head-end { // less lies before than behind
		copy(r.list[r.head+end-i:r.head+end], r.list[r.head:r.head+i])
		clear(r.list[r.head : r.head+end-i])
		r.head += end - i
		return
	}
	n := copy(r.list[r.head+i:], r.list[r.head+end:])
	clear(r.list[r.head+i+n:])
	r.list = r.list[:r.head+i+n]
}
