package leastwait

import "github.com/pigeon-sched/pigeon/internal/sched"

// ranking orders the general workers by waiting time.
type ranking struct {
	within heap // workers whose task is within its estimate, by when their work is done
	others heap // all others, by the work assigned
}

// update moves a worker to the heap and place of its waiting time.
func (r *ranking) update(now sched.Time, w *worker) {
	r.remove(w)
	switch {
	case !w.general:
	case w.running != nil && w.done > now:
		r.within.push(w, w.done+w.waiting)
	default:
		r.others.push(w, w.waiting)
	}
}

// remove removes a worker, if it is ranked.
func (r *ranking) remove(w *worker) {
	if w.in != nil {
		w.in.remove(w)
	}
}

// least returns the worker with the least waiting time, nil without one.
func (r *ranking) least(now sched.Time) *worker {
	for w := r.within.top(); w != nil && w.done <= now; w = r.within.top() {
		r.update(now, w)
	}
	a, b := r.within.top(), r.others.top()
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	case a.key-now < b.key || (a.key-now == b.key && a.addr.ID < b.addr.ID):
		return a
	default:
		return b
	}
}
