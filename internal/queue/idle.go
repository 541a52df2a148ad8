package queue

import "github.com/pigeon-sched/pigeon/internal/sched"

// Idler is a worker's entry in the idle lists; a worker embeds one.
type Idler struct {
	seq        int64
	list       *idleList
	kind       sched.WorkerKind
	prev, next *Idler
	Worker     int32 // id of the worker
}

// Listed reports whether the worker is in an idle list.
func (e *Idler) Listed() bool { return e.list != nil }

type idleList struct {
	first, last *Idler
	count       int
}

// PushIdle puts the worker at the tail of the idle workers of its service and
// kind.
func (x *Index) PushIdle(e *Idler, s *Service, k sched.WorkerKind) {
	e.seq, e.kind, e.list = x.tail, k, &s.idle[k]
	x.tail++
	e.prev, e.next = e.list.last, nil
	if e.list.last != nil {
		e.list.last.next = e
	} else {
		e.list.first = e
	}
	e.list.last = e
	e.list.count++
	x.idle[k]++
}

// RemoveIdle removes the worker from its idle list; it may be in none.
func (x *Index) RemoveIdle(e *Idler) {
	l := e.list
	if l == nil {
		return
	}
	if e.prev != nil {
		e.prev.next = e.next
	} else {
		l.first = e.next
	}
	if e.next != nil {
		e.next.prev = e.prev
	} else {
		l.last = e.prev
	}
	l.count--
	x.idle[e.kind]--
	e.list, e.prev, e.next = nil, nil, nil
}

// IdleOf returns how many idle workers of the kind serve the application.
func (x *Index) IdleOf(app string, k sched.WorkerKind) (idle int) {
	if a := x.apps[app]; a != nil {
		for _, s := range a.services {
			idle += s.idle[k].count
		}
	}
	return idle
}

// Unused returns how many idle workers of the kind serve nothing.
func (x *Index) Unused(k sched.WorkerKind) int {
	if s := x.services[serviceKey(nil)]; s != nil {
		return s.idle[k].count
	}
	return 0
}

// TakeIdle removes and returns the worker of that kind that has been idle longest among
// those that serve the application, nil when there is none.
func (x *Index) TakeIdle(a *App, k sched.WorkerKind) *Idler {
	var best *Idler
	for _, s := range a.services {
		if e := s.idle[k].first; e != nil && (best == nil || e.seq < best.seq) {
			best = e
		}
	}
	if best != nil {
		x.RemoveIdle(best)
	}
	return best
}

// TakeIdleFor removes and returns an idle worker of one of the kinds for which a task of
// the class waits, nil when there is none.
func (x *Index) TakeIdleFor(c sched.Class, kinds []sched.WorkerKind) *Idler {
	for _, a := range x.order {
		if root := a.roots[c]; root == nil || root.leaf() == nil {
			continue
		}
		for _, k := range kinds {
			if e := x.TakeIdle(a, k); e != nil {
				return e
			}
		}
	}
	return nil
}
