package queue

import (
	"slices"

	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/internal/shares"
)

// Job is what a master keeps of a job while it holds a task of it. There may be one
// for each task: it is 72 bytes.
type Job struct {
	ID            sched.JobID
	Estimate      sched.Time
	line          *line // its application, owner and priority
	runs          *Run  // all waiting runs of the job, newest first
	DistributorID int32 // distributor that its reports go to
	Queued        int32 // tasks waiting here
	Running       int32 // tasks launched and not known to have ended

	RunningFirst, RunningLast int32 // ids of the workers that run it, kept by the master

	aside int32 // of Queued: those in the queue of the other class
	Class sched.Class
	Marks sched.Marks // Stoppable and Restartable count
}

// QueuedAs returns how many of the job's tasks wait in the queue of the class.
func (j *Job) QueuedAs(c sched.Class) int32 {
	if c == j.Class {
		return j.Queued - j.aside
	}
	return j.aside
}

// Distributor returns the distributor that the job's reports go to.
func (j *Job) Distributor() sched.Addr {
	return sched.Addr{Role: sched.Distributor, ID: j.DistributorID}
}

// Run is the tasks First..First+Count-1 of a job, waiting together. Count is
// never zero while it is queued. It is 64 bytes.
type Run struct {
	Job         *Job
	First       int32
	Count       int32
	Attempt     int32
	Class       sched.Class // of the queue it waits in, the job's as a rule
	Moved       bool        // came from another group
	Since       sched.Time
	seq         int64
	prev, next  *Run // in the queue
	siblingNext *Run // in the job
}

// App returns the application that the job needs.
func (j *Job) App() *App { return j.line.app }

// Owner returns the leaf of the tree at which the job's tasks wait.
func (j *Job) Owner() *shares.Node { return j.line.owner }

// Priority returns the job's priority among those of its owner.
func (j *Job) Priority() int32 { return j.line.priority }

// PushTail queues count tasks of the job behind all others of its class, owner and
// priority.
func (x *Index) PushTail(now sched.Time, j *Job, first, count, attempt int32) *Run {
	return x.PushTailAs(j.Class, now, j, first, count, attempt)
}

// PushTailAs is PushTail into the queue of a class that need not be the job's.
func (x *Index) PushTailAs(c sched.Class, now sched.Time, j *Job, first, count, attempt int32) *Run {
	r := &Run{Job: j, First: first, Count: count, Attempt: attempt, Class: c, Since: now, seq: x.tail}
	x.tail++
	l := x.laneOf(j, c)
	r.prev = l.last
	was := l.first
	if was != nil {
		l.last.next = r
	} else {
		l.first = r
	}
	l.last = r
	if l.tail == nil {
		l.tail = r
	}
	x.enter(r)
	if was == nil {
		x.filled(l)
	}
	return r
}

// PushHead queues count tasks of the job before all others of its class, owner and
// priority.
func (x *Index) PushHead(now sched.Time, j *Job, first, count, attempt int32) *Run {
	return x.PushHeadAs(j.Class, now, j, first, count, attempt)
}

// PushHeadAs is PushHead into the queue of a class that need not be the job's.
func (x *Index) PushHeadAs(c sched.Class, now sched.Time, j *Job, first, count, attempt int32) *Run {
	r := &Run{Job: j, First: first, Count: count, Attempt: attempt, Class: c, Since: now, seq: x.head}
	x.head--
	l := x.laneOf(j, c)
	r.next = l.first
	was := l.first
	if was != nil {
		was.prev = r
	} else {
		l.last = r
	}
	l.first = r
	x.enter(r)
	if was == nil {
		x.filled(l)
	}
	return r
}

func (x *Index) enter(r *Run) {
	r.siblingNext = r.Job.runs
	r.Job.runs = r
	x.count(r, r.Count)
}

// count records that n more tasks of the run wait.
func (x *Index) count(r *Run, n int32) {
	j := r.Job
	j.Queued += n
	x.queued[r.Class] += int(n)
	l := j.line
	l.app.queued[r.Class] += int(n)
	x.tree.Wait(l.owner, r.Class, n)
	if k := l.lanes[r.Class].ranking; r.Class != j.Class {
		j.aside += n
		if k != nil {
			k.update(j, r.seq)
		}
		x.Changed(j)
	} else if k != nil {
		k.update(j, r.seq)
	}
}

// First returns the run of the class whose first task is the next for a worker of
// the service, nil when none of its applications has one that may be launched.
func (x *Index) First(s *Service, c sched.Class) *Run { return x.first(s.apps, c) }

func (x *Index) first(apps []*App, c sched.Class) *Run {
	var best *place
	for _, a := range apps {
		root := a.roots[c]
		if root == nil {
			continue
		}
		if p := root.leaf(); p != nil && (best == nil || x.goesBefore(p, best)) {
			best = p
		}
	}
	if best == nil {
		return nil
	}
	return x.next(best.top(), best.class)
}

// Take removes the first task of a queued run and returns its number.
func (x *Index) Take(r *Run) (task int32) { return x.TakeSome(r, 1) }

// TakeSome removes the first n tasks of a queued run, which has as many, and returns the number of
// the first.
func (x *Index) TakeSome(r *Run, n int32) (first int32) {
	first = r.First
	r.First += n
	x.shrink(r, n)
	return first
}

// shrink records that n tasks left the run, and unlinks it when it is empty.
func (x *Index) shrink(r *Run, n int32) {
	r.Count -= n
	x.count(r, -n)
	if r.Count > 0 {
		return
	}
	if x.near[r.Class] == r {
		x.near[r.Class] = nil
	}
	j := r.Job
	l := j.line.lanes[r.Class]
	if l.tail == r {
		l.tail = r.next
	}
	if r.prev != nil {
		r.prev.next = r.next
	} else {
		l.first = r.next
	}
	if r.next != nil {
		r.next.prev = r.prev
	} else {
		l.last = r.prev
	}
	for at := &j.runs; *at != nil; at = &(*at).siblingNext {
		if *at == r {
			*at = r.siblingNext
			break
		}
	}
	if l.first == nil {
		x.emptied(l)
	}
}

// EachRun calls f for the waiting runs of the job, in an order on which
// no decision may depend. f must not change the queue.
func (j *Job) EachRun(f func(*Run)) {
	for r := j.runs; r != nil; r = r.siblingNext {
		f(r)
	}
}

// Waiting returns the attempt with which the task waits here, 0 when it does not.
func (j *Job) Waiting(task int32) (attempt int32) {
	j.EachRun(func(r *Run) {
		if task >= r.First && task-r.First < r.Count {
			attempt = max(attempt, r.Attempt)
		}
	})
	return attempt
}

// Remove removes those of the tasks first..first+count-1 of the job that wait,
// and returns their number.
func (x *Index) Remove(j *Job, first, count int32) (removed int32) {
	end := first + count
	for r := j.runs; r != nil; {
		next := r.siblingNext
		lo, hi := max(first, r.First), min(end, r.First+r.Count)
		if lo < hi {
			removed += hi - lo
			x.cut(r, lo, hi)
		}
		r = next
	}
	return removed
}

// cut removes tasks lo..hi-1 from the run; the tasks after them become a separate
// run in the same place.
func (x *Index) cut(r *Run, lo, hi int32) {
	tail := r.First + r.Count - hi
	if lo == r.First {
		r.First = hi
		x.shrink(r, hi-lo)
		return
	}
	x.shrink(r, r.First+r.Count-lo)
	if tail == 0 {
		return
	}
	rest := &Run{Job: r.Job, First: hi, Count: tail, Attempt: r.Attempt, Class: r.Class, Moved: r.Moved, Since: r.Since, seq: r.seq, prev: r, next: r.next}
	if r.next != nil {
		r.next.prev = rest
	} else {
		r.Job.line.lanes[r.Class].last = rest
	}
	r.next = rest
	x.enter(rest)
}

// TakeAll removes every waiting task of the application and calls f for each
// run, short class first, in queue order.
func (x *Index) TakeAll(a *App, f func(*Run)) {
	for _, root := range a.roots {
		for root != nil && root.kids != nil && len(root.kids.slots) > 0 {
			p := root
			for p.kids != nil && len(p.kids.slots) > 0 {
				p = p.kids.slots[0].place
			}
			r := p.top().first
			out := *r
			x.shrink(r, r.Count)
			f(&out)
		}
	}
}

// Reclass removes all waiting tasks of the job, sets the job's class, and
// calls f for each run in the order in which they had entered.
func (x *Index) Reclass(j *Job, c sched.Class, f func(*Run)) {
	var out []*Run
	j.EachRun(func(r *Run) { out = append(out, r) })
	slices.SortFunc(out, func(a, b *Run) int {
		if a.before(b) {
			return -1
		}
		return 1
	})
	waited := make([]Run, len(out))
	for i, r := range out {
		waited[i] = *r
		x.shrink(r, r.Count)
	}
	j.Class = c
	for i := range waited {
		f(&waited[i])
	}
}
