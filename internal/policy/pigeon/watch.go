package pigeon

import "github.com/pigeon-sched/pigeon/internal/sched"

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

// overdue calls f for the workers whose task has run for a cutoff.
func (l *watchlist) overdue(now sched.Time, out *sched.Actions, f func(*worker)) {
	for w := l.first; w != nil && w.watch.due <= now; w = l.first {
		l.remove(w)
		f(w)
	}
	l.timer = false
	l.wake(out)
}
