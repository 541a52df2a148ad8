package pigeon

import (
	"github.com/pigeon-sched/pigeon/internal/queue"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// isTrial implements hooks.
func (e *extension) isTrial(j *queue.Job, marks sched.Marks) bool {
	return e.options.Canary && j.Class == sched.Long && marks.Has(sched.Canary)
}

// comesLast reports whether the task is a canary of an owner that runs more than its
// share: it suspends nothing.
func comesLast(x *work) bool { return x.trial && x.job.Owner().Over() }

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

// wake requests a timer when a worker is on the list and no timer runs.
func (l *watchlist) wake(out *sched.Actions) {
	if l.first != nil && !l.timer {
		l.timer = true
		out.Timer(l.first.watch.due, cutoffOver)
	}
}

// overdue processes the short tasks that have run for a cutoff.
func (e *extension) overdue(out *sched.Actions) {
	l := &e.watched
	for w := l.first; w != nil && w.watch.due <= e.now; w = l.first {
		l.remove(w)
		e.overran(w, out)
	}
	l.timer = false
	l.wake(out)
}

// overran makes a short task that has run for a cutoff count as long. A canary is
// stopped, to be started again later, if other tasks wait; any other task shows that its
// job is long, and the job is reclassed here at once. If a short task waits and this one
// can be suspended, it is.
func (e *extension) overran(w *worker, out *sched.Actions) {
	j, trial := w.job, w.trial
	w.class, w.trial = sched.Long, false
	if !trial && j.Class == sched.Short {
		e.sendClass(j, sched.Long, out)
		e.reclass(e.now, j, sched.Long, out)
	}
	wanted := w.held != nil || e.index.Queued(sched.Short)+e.index.Queued(sched.Long) > 0
	if trial && wanted && j.Marks.Has(sched.Restartable) {
		w.yielding = true
		y := out.Send(w.addr, sched.Yield)
		y.Job, y.First, y.Attempt, y.Epoch = j.ID, w.task, w.attempt, e.epoch
	}
	e.changed(w, j)
	if w.preemptible() {
		if r := e.index.First(w.service, sched.Short); r != nil {
			e.suspend(w, e.next(r), out)
		}
	}
}

// sendClass sends the job's distributor the class that a task showed.
func (e *extension) sendClass(j *queue.Job, c sched.Class, out *sched.Actions) {
	m := out.Send(j.Distributor(), sched.Reclass)
	m.Job, m.Class = j.ID, c
}
