package pigeon

import (
	"github.com/pigeon-sched/pigeon/internal/queue"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// trying reports whether wrong classes are looked for.
func (s *Master) trying() bool { return s.sorted != nil && s.sorted.options.Canary }

// watch is a worker's place in a watchlist.
type watch struct {
	on            bool
	due           sched.Time // its task has run for a cutoff then
	before, after *worker
}

// watchlist holds the workers that run a short task, in the order in which these
// will have run for a cutoff. Short tasks are not suspended, so that is the order in
// which they began, and one timer is enough for all.
type watchlist struct {
	first, last *worker
	timer       bool // one runs
}

func (l *watchlist) add(w *worker, due sched.Time, out *sched.Actions) {
	w.watch = watch{on: true, due: due, before: l.last}
	if l.last != nil {
		l.last.watch.after = w
	} else {
		l.first = w
	}
	l.last = w
	l.wake(out)
}

func (l *watchlist) remove(w *worker) {
	if !w.watch.on {
		return
	}
	if b := w.watch.before; b != nil {
		b.watch.after = w.watch.after
	} else {
		l.first = w.watch.after
	}
	if a := w.watch.after; a != nil {
		a.watch.before = w.watch.before
	} else {
		l.last = w.watch.before
	}
	w.watch = watch{}
}

// wake asks for a timer when there is something to wait for and none runs.
func (l *watchlist) wake(out *sched.Actions) {
	if l.first != nil && !l.timer {
		l.timer = true
		out.Timer(l.first.watch.due, cutoffOver)
	}
}

// overdue takes in which short tasks have run for a cutoff.
func (s *Master) overdue(out *sched.Actions) {
	l := &s.sorted.watched
	for w := l.first; w != nil && w.watch.due <= s.sorted.now; w = l.first {
		l.remove(w)
		s.overran(w, out)
	}
	l.timer = false
	l.wake(out)
}

// overran takes in that a short task has run for a cutoff: it counts as long. A
// canary makes room for others, if there are any, and starts anew; another task
// shows that its job is long, here at once. What can be suspended is, if a short task
// waits.
func (s *Master) overran(w *worker, out *sched.Actions) {
	j, trial := w.job, w.trial
	w.class, w.trial = sched.Long, false
	if !trial && j.Class == sched.Short {
		s.tellClass(j, sched.Long, out)
		s.reclass(s.sorted.now, j, sched.Long, out)
	}
	wanted := w.held != nil || s.index.Queued(sched.Short)+s.index.Queued(sched.Long) > 0
	if trial && wanted && j.Marks.Has(sched.Restartable) {
		w.yielding = true
		y := out.Send(w.addr, sched.Yield)
		y.Job, y.First, y.Attempt, y.Epoch = j.ID, w.task, w.attempt, s.epoch
	}
	s.changed(w, j)
	if w.preemptible() {
		if r := s.index.First(w.service, sched.Short); r != nil {
			s.suspend(w, s.next(r), out)
		}
	}
}

// tellClass tells the job's distributor which class a task showed it to have.
func (s *Master) tellClass(j *queue.Job, c sched.Class, out *sched.Actions) {
	m := out.Send(j.Owner(), sched.Reclass)
	m.Job, m.Class = j.ID, c
}

// reclassed takes in that a job is of another class.
func (s *Master) reclassed(now sched.Time, m *sched.Message, out *sched.Actions) {
	s.recovery.reclass(m.Job, m.Class)
	if j := s.jobs[m.Job]; j != nil && j.Class != m.Class {
		s.reclass(now, j, m.Class, out)
	}
}

// reclass moves what waits of the job to the tail of the queue of the class. What
// runs goes on as it is.
func (s *Master) reclass(now sched.Time, j *queue.Job, c sched.Class, out *sched.Actions) {
	s.index.Reclass(j, c, func(r *queue.Run) {
		x, count := work{job: j, task: r.First, attempt: r.Attempt, class: c, moved: r.Moved}, r.Count
		x, count = s.employ(x, count, out) // a reserved worker may be idle
		if count > 0 {
			tail := s.index.PushTail(now, j, x.task, count, x.attempt)
			tail.Moved, tail.Since = x.moved, r.Since
		}
	})
	s.index.Changed(j)
}

// catchUp takes over what a message of the job's distributor says of the job. What
// a registering worker said of it may be less, or out of date.
func (s *Master) catchUp(now sched.Time, j *queue.Job, m *sched.Message, out *sched.Actions) {
	if j.Class != m.Class {
		s.reclass(now, j, m.Class, out)
	}
	if s.sorted == nil {
		return
	}
	f := s.sorted.facts[j]
	if f.arrival == 0 {
		f.arrival = m.Arrival
	}
	if f.total == 0 && m.Total > 0 {
		f.total = m.Total
		s.index.Changed(j)
	}
	if marks := lasting(m.Marks); marks != j.Marks {
		j.Marks = marks
		for w := s.firstOf(j); w != nil; w = w.next {
			s.changed(w, j)
		}
	}
}
