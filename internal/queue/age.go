package queue

import "github.com/pigeon-sched/pigeon/internal/sched"

// PushByAge queues count tasks of the job behind those of their class, owner and priority that
// have waited as long or longer, with the instant since which these wait. It is for tasks that
// waited elsewhere before: at a master that this one follows. Runs that were put to the head stay
// before them.
//
// Such tasks come in long sequences in order of their age, so the search begins at the last
// place found.
func (x *Index) PushByAge(c sched.Class, since sched.Time, j *Job, first, count, attempt int32) *Run {
	l := x.laneOf(j, c)
	at := x.near[c]
	if at == nil || at.Job.line.lanes[c] != l {
		at = l.last
	}
	for at != nil && at.next != nil && at.next.isBefore(since) {
		at = at.next
	}
	for at != nil && !at.isBefore(since) {
		at = at.prev
	}
	if at == l.last {
		r := x.PushTailAs(c, since, j, first, count, attempt)
		x.near[c] = r
		return r
	}
	next := l.first
	if at != nil {
		next = at.next
	}
	// The lane has the order of runs of equal number.
	r := &Run{Job: j, First: first, Count: count, Attempt: attempt, Class: c, Since: since, seq: next.seq, prev: at, next: next}
	if next.prev = r; l.tail == next {
		l.tail = r
	}
	if at != nil {
		at.next = r
	} else {
		l.first = r
	}
	x.enter(r)
	x.near[c] = r
	return r
}

// isBefore reports whether the run is served before tasks that have waited since then.
func (r *Run) isBefore(since sched.Time) bool { return r.seq < 0 || r.Since <= since }
