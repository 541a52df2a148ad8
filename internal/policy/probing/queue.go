package probing

import "github.com/pigeon-sched/pigeon/internal/sched"

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

// Queue holds entries in order of arrival. Taking from its head costs nothing,
// taking from elsewhere as much as there is before or behind.
type Queue struct {
	list []Entry
	head int
}

// Len returns the number of entries.
func (q *Queue) Len() int { return len(q.list) - q.head }

// At returns an entry, 0 being the head. The pointer is valid until the queue
// changes.
func (q *Queue) At(i int) *Entry { return &q.list[q.head+i] }

// Push puts an entry at the tail.
func (q *Queue) Push(e Entry) {
	if len(q.list) == cap(q.list) && q.head > len(q.list)/2 {
		n := copy(q.list, q.list[q.head:])
		clear(q.list[n:])
		q.list, q.head = q.list[:n], 0
	}
	q.list = append(q.list, e)
}

// Remove removes the entries from i to below end.
func (q *Queue) Remove(i, end int) {
	if i < q.Len()-end { // less lies before than behind
		copy(q.list[q.head+end-i:q.head+end], q.list[q.head:q.head+i])
		clear(q.list[q.head : q.head+end-i])
		q.head += end - i
		return
	}
	n := copy(q.list[q.head+i:], q.list[q.head+end:])
	clear(q.list[q.head+i+n:])
	q.list = q.list[:q.head+i+n]
}
