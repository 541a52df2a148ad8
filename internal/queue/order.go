package queue

import "github.com/pigeon-sched/pigeon/internal/sched"

// Order ranks the jobs of a class that wait: the least rank is served first,
// equal ones in order of entry, the tasks of one job first in, first out. A class
// without an order is first in, first out as a whole.
type Order interface {
	// Rank returns the job's rank as of the last Renew.
	Rank(j *Job) float64
	// Renew sets the time. It reports whether that changed ranks.
	Renew(now sched.Time) bool
}

// Orders are the orders in which the queues of an index are served.
type Orders struct {
	By [sched.NumClasses]Order // nil: first in, first out
	// Overdue: a task that has waited longer is served before all ranks, the oldest
	// first; 0 is never.
	Overdue sched.Time
}

// NewOrderedIndex returns an empty index whose queues are served in these orders.
func NewOrderedIndex(o Orders) *Index {
	x := NewIndex()
	x.orders = o
	for c := range x.ranked {
		if o.By[c] != nil {
			x.ranked[c] = make(map[*Job]*ranked)
		}
	}
	return x
}

// ranking holds the jobs of one lane that wait: a binary heap.
type ranking struct {
	order Order
	class sched.Class
	heap  []*ranked
	of    map[*Job]*ranked // of all lanes of the class
}

// ranked is a job's entry. Ranks are compared as of the same Renew.
type ranked struct {
	job  *Job
	rank float64
	seq  int64 // of the job's entry
	at   int   // in the heap
}

func (e *ranked) before(o *ranked) bool {
	return e.rank < o.rank || (e.rank == o.rank && e.seq < o.seq)
}

func (k *ranking) top() *ranked {
	if len(k.heap) == 0 {
		return nil
	}
	return k.heap[0]
}

// update records that the job changed: it may be new, or wait no longer. seq is
// that of its entry if it is new.
func (k *ranking) update(j *Job, seq int64) {
	e := k.of[j]
	switch {
	case j.QueuedAs(k.class) == 0:
		if e != nil {
			k.remove(e)
		}
		return
	case e == nil:
		e = &ranked{job: j, seq: seq, at: len(k.heap)}
		k.of[j] = e
		k.heap = append(k.heap, e)
	}
	e.rank = k.order.Rank(j)
	k.restore(e)
}

func (k *ranking) remove(e *ranked) {
	delete(k.of, e.job)
	end := len(k.heap) - 1
	last := k.heap[end]
	k.heap[end] = nil
	k.heap = k.heap[:end]
	if last != e {
		last.at = e.at
		k.heap[last.at] = last
		k.restore(last)
	}
}

// renew computes all ranks again.
func (k *ranking) renew() {
	for _, e := range k.heap {
		e.rank = k.order.Rank(e.job)
	}
	for i := len(k.heap)/2 - 1; i >= 0; i-- {
		k.sink(k.heap[i])
	}
}

// restore moves the entry to where its rank belongs.
func (k *ranking) restore(e *ranked) {
	for e.at > 0 && e.before(k.heap[(e.at-1)/2]) {
		k.swap(e, k.heap[(e.at-1)/2])
	}
	k.sink(e)
}

func (k *ranking) sink(e *ranked) {
	for {
		least := e
		for child := 2*e.at + 1; child <= 2*e.at+2 && child < len(k.heap); child++ {
			if k.heap[child].before(least) {
				least = k.heap[child]
			}
		}
		if least == e {
			return
		}
		k.swap(e, least)
	}
}

func (k *ranking) swap(a, b *ranked) {
	k.heap[a.at], k.heap[b.at] = b, a
	a.at, b.at = b.at, a.at
}

// Renew sets the time of the orders; ranks that depend on it change now.
func (x *Index) Renew(now sched.Time) {
	x.now = now
	for c, o := range x.orders.By {
		if o == nil || !o.Renew(now) {
			continue
		}
		for _, a := range x.order {
			a.roots[c].each(func(k *lane) { k.ranking.renew() })
		}
	}
}

// Changed records that the job's rank may be another, other than by its tasks
// coming and going here.
func (x *Index) Changed(j *Job) {
	for _, k := range j.line.lanes {
		if k != nil && k.ranking != nil && j.QueuedAs(k.ranking.class) > 0 {
			k.ranking.update(j, 0)
		}
	}
}

// FirstOf is First for a worker elsewhere that serves the named applications.
func (x *Index) FirstOf(names []string, c sched.Class) *Run {
	apps := make([]*App, 0, len(names))
	for _, n := range names {
		if a := x.apps[n]; a != nil {
			apps = append(apps, a)
		}
	}
	return x.first(apps, c)
}

// next returns the run of a lane that is served next: one that goes before all ranks,
// else that of the job ranked first.
func (x *Index) next(k *lane, c sched.Class) *Run {
	if k.ranking == nil || x.isUrgent(k.first) {
		return k.first
	}
	return k.ranking.top().job.oldest(c)
}

// goesBefore reports whether tasks that wait in a place are served before those in a
// place for another application.
func (x *Index) goesBefore(a, b *place) bool {
	if a.node() != b.node() {
		a, b = parting(a, b)
		return slot{a.key(), a}.before(slot{b.key(), b})
	}
	k, l := a.top(), b.top()
	if k.line.priority != l.line.priority {
		return k.line.priority > l.line.priority
	}
	if k.ranking == nil {
		return k.first.seq < l.first.seq
	}
	switch u, v := x.isUrgent(k.first), x.isUrgent(l.first); {
	case u && v:
		return k.first.seq < l.first.seq
	case u != v:
		return u
	}
	return k.ranking.top().before(l.ranking.top())
}

// parting returns the places, on the ways down to two leaves, where these ways part.
func parting(a, b *place) (*place, *place) {
	for d := a.depth() - b.depth(); d != 0; {
		if d > 0 {
			a, d = a.up, d-1
		} else {
			b, d = b.up, d+1
		}
	}
	for a.up.node() != b.up.node() {
		a, b = a.up, b.up
	}
	return a, b
}

func (p *place) depth() (d int) {
	for ; p.up != nil; p = p.up {
		d++
	}
	return d
}

// isUrgent reports whether the run, the oldest of its queue, is served before all ranks: it
// was put to the head, or is overdue.
func (x *Index) isUrgent(r *Run) bool {
	return r.seq < 0 || (x.orders.Overdue > 0 && x.now-r.Since > x.orders.Overdue)
}

// oldest returns the job's run in the queue of the class that entered first.
func (j *Job) oldest(c sched.Class) (oldest *Run) {
	for r := j.runs; r != nil; r = r.siblingNext {
		if r.Class == c && (oldest == nil || r.before(oldest)) {
			oldest = r
		}
	}
	return oldest
}

// before reports whether the run entered its queue before the other one of its job.
func (r *Run) before(o *Run) bool { return r.seq < o.seq || (r.seq == o.seq && r.First < o.First) }
