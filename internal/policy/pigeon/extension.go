package pigeon

import (
	"github.com/pigeon-sched/pigeon/internal/queue"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// extension is what pigeon-sort and pigeon-x add to a master. docs/policies.md has the
// rules and worked numbers.
//
//	order.go, tail.go           sorted queues
//	overflow.go, spare.go       tasks that move between groups
//	suspension.go, patience.go  suspended tasks
//	canary.go, overruns.go      wrong classes
//	estimate.go, window.go      classes and estimates of undeclared jobs
//
// A task moves by way of its distributor, which therefore knows at every instant which
// group holds it. That costs one hop and one message more than sending it from A to B.
//
//	master A            distributor              master B
//	    │ ◀────────────────── Spare ───────────────── │   a worker is idle there
//	    │ ── Returned, Peer=B ──▶ │                    │
//	    │                         │ ── Tasks, Moved, ─▶ │   journaled as Placed; A's
//	    │                         │       Peer=A        │   flag for B is used
//
// The states of a task at a worker of pigeon-x, as recorded by its master:
//
//	        Launch, Preempt                Preempt of another
//	queued ─────────────────▶ running ─────────────────────▶ suspended
//	   ▲                       │ │ ▲                            │
//	   └── Refused, Yielded ───┘ │ └───────── Continue ─────────┘
//	                             ▼
//	                           ended
//
// # Failures
//
// A victim may end while the order to suspend it is in transit: its worker then runs
// the short task at once. A worker that never had the victim refuses both. Idle notices
// name the attempt that ended and the one that is suspended, which corrects a master
// that assumed otherwise. An attempt that a slot holds and its master does not know is
// killed, and its distributor tries the task again. A master that follows another
// adopts suspended attempts. An outdated notice of a spare worker costs a move. If the
// notice, or the task for a flag, is lost, the two groups do not exchange tasks for ten
// cutoffs, after which the notice is repeated.
type extension struct {
	*Master
	transfer
	options Options
	facts   map[*queue.Job]*facts
	measure measure
	tail    tail
	stints  uint64     // begun so far
	longs   []*worker  // whose long task can be suspended
	patient []patience // short tasks whose patience has not ended, in order of its end
	watched watchlist
	learning
}

// extend adds an extension with these options to a new master.
func (s *Master) extend(o Options) {
	cutoff := s.cfg.Params.Cutoff
	e := &extension{
		Master: s, options: o, measure: measure{cutoff: cutoff, aging: o.Aging}, facts: make(map[*queue.Job]*facts),
		transfer: transfer{Master: s, draws: sched.Rand(s.cfg.Seed, uint64(s.cfg.Self.ID))}, //nolint:gosec // an id is not negative
	}
	if o.Tail {
		e.tail = newTail(cutoff)
		e.measure.due = e.tail.due()
	}
	orders := queue.Orders{By: [sched.NumClasses]queue.Order{
		sched.Short: leastQueued{cutoff, e.facts},
		sched.Long:  &aged{live: &e.measure, measure: e.measure, facts: e.facts},
	}}
	if o.Guard {
		orders.Overdue = overdueCutoffs * cutoff
	}
	s.hooks, s.index = e, queue.NewOrderedIndex(orders)
}

// stepBegins implements hooks.
func (e *extension) stepBegins(now sched.Time) {
	e.relearn()
	e.index.Renew(now)
}

// timeout implements hooks.
func (e *extension) timeout(token uint64, out *sched.Actions) {
	switch token {
	case patienceOver:
		e.patienceEnded(out)
	case cutoffOver:
		e.watched.overdue(e.now, out, func(w *worker) { e.overran(w, out) })
	}
}

// facts are an extension's data about a job in addition to those that every queue keeps.
type facts struct {
	arrival sched.Time // at its distributor
	held    int32      // tasks suspended here
	ended   int32      // tasks that ended here
	total   int32      // tasks in all groups, 0 when not stated
	dropped bool       // tasks of it were dropped here
	observed
}

// jobAdded implements hooks.
func (e *extension) jobAdded(j *queue.Job, arrival sched.Time, total int32) {
	e.facts[j] = &facts{arrival: arrival, total: total}
	e.meet(j)
}

// jobRepeated implements hooks. A registering worker may report less about a
// job than its distributor sends, or outdated facts.
func (e *extension) jobRepeated(j *queue.Job, arrival sched.Time, total int32, marks sched.Marks) {
	f := e.facts[j]
	if f.arrival == 0 {
		f.arrival = arrival
	}
	if f.total == 0 && total > 0 {
		f.total = total
		e.index.Changed(j)
	}
	if marks = lasting(marks) | j.Marks&sched.Undeclared; marks != j.Marks {
		j.Marks = marks
		e.meet(j)
		for w := e.workers.running(j); w != nil; w = w.next {
			e.changed(w, j)
		}
	}
}

// jobForgotten implements hooks.
func (e *extension) jobForgotten(j *queue.Job) { delete(e.facts, j) }

// placeElsewhere implements hooks: over a long task, in another group, or in the
// queue with some patience.
func (e *extension) placeElsewhere(x work, count int32, out *sched.Actions) (rest work, left int32) {
	for count > 0 && e.moves(x, out) {
		x.task++
		count--
	}
	e.startPatience(x, count, out)
	return x, count
}

// moves places an arriving task for which no worker is idle somewhere other than the
// queue, and reports whether it could.
func (e *extension) moves(x work, out *sched.Actions) bool {
	if !e.mayLaunch(x.job) {
		return false
	}
	o := &e.options
	if o.Suspend && o.Patience == 0 && x.class == sched.Short && !comesLast(&x) && e.preempt(x, out) {
		return true
	}
	return !x.moved && e.overflow(x, out)
}

// started implements hooks.
func (e *extension) started(w *worker, out *sched.Actions) {
	e.changed(w, w.job)
	e.begin(w, 0, out)
}

// released implements hooks.
func (e *extension) released(w *worker, j *queue.Job) {
	w.resumed, w.firm, w.yielding = false, false, false
	e.watched.remove(w)
	e.changed(w, j)
}

// idleNotice implements hooks.
func (e *extension) idleNotice(w *worker, id sched.AttemptID, kept []sched.AttemptID, out *sched.Actions) (done bool) {
	stopped := w.yielding // to be started again
	if e.reconcileIdle(w, id, kept, out) {
		return true
	}
	if w.job == nil {
		return false
	}
	if w.trial && w.id() == id {
		e.sendClass(w.job, sched.Short, out)
	}
	if !stopped {
		e.observe(w.job, e.attained(w))
		e.taskEnds(&w.work)
		e.widen(w, out)
	}
	return false
}

// continues implements hooks: a suspended task comes before long ones that wait.
func (e *extension) continues(w *worker, next *queue.Run, out *sched.Actions) bool {
	if len(w.held) == 0 || (next != nil && next.Class != sched.Long) {
		return false
	}
	e.resume(w, out)
	return true
}
