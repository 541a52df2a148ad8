package pigeon

import (
	"slices"

	"github.com/pigeon-sched/pigeon/internal/queue"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/internal/shares"
)

// suspension is a master's record of a slot whose task it may suspend.
type suspension struct {
	stint    stint // of what it runs
	held     *held // suspended there, nil for none
	overtook bool  // its task was sent to suspend the one before
	resumed  bool  // what it runs was suspended before
	firm     bool  // it refused to suspend its task
	yielding bool  // its task is being stopped, to be started again
	longAt   int   // 1 + place among those that can be preempted, else 0
	watch    watch // of what it runs
}

// stint is how long a worker has run its task.
type stint struct {
	since    sched.Time // it runs since
	attained sched.Time // before that
	number   uint64     // counts stints from launches on
}

// held is a task that a worker has suspended.
type held struct {
	work
	stint stint
	bill  bill
}

// begin records that the worker starts or continues its task.
func (e *extension) begin(w *worker, attained sched.Time, out *sched.Actions) {
	e.stints++
	w.stint = stint{since: e.now, attained: attained, number: e.stints}
	if e.options.Canary && w.class == sched.Short {
		e.watched.add(w, e.now+e.cfg.Params.Cutoff-attained, out)
	}
}

// preemptible reports whether the worker's task can be suspended: it is long, its backend
// can stop it, and the slot holds no other.
func (w *worker) preemptible() bool {
	return w.job != nil && w.class == sched.Long && w.held == nil && !w.firm && !w.yielding && w.job.Marks.Has(sched.Stoppable)
}

// changed is called after the worker began or ended a task of the job.
func (e *extension) changed(w *worker, j *queue.Job) {
	e.index.Changed(j)
	switch can := w.preemptible(); {
	case can && w.longAt == 0:
		e.longs = append(e.longs, w)
		w.longAt = len(e.longs)
	case !can && w.longAt > 0:
		last := e.longs[len(e.longs)-1]
		e.longs[w.longAt-1], last.longAt = last, w.longAt
		e.longs = e.longs[:len(e.longs)-1]
		w.longAt = 0
	}
}

// victim returns the worker whose long task is suspended for a short one of the
// application: of the owner that is most over its share of what runs, the task with the
// largest index, of equal ones the one begun last.
func (e *extension) victim(app string) (victim *worker) {
	var largest float64
	for _, w := range e.longs {
		f, est := e.facts[w.job], estimate(w.job, e.measure.cutoff)
		left := max(est-w.stint.attained-(e.now-w.stint.since), est/4)
		v := e.measure.of(est, e.measure.unfinished(f, w.job), e.now-f.arrival, left)
		if victim != nil {
			switch over := shares.Excess(w.job.Owner(), victim.job.Owner()); {
			case over < 0, over == 0 && (v < largest || (v == largest && w.stint.number < victim.stint.number)):
				continue
			}
		}
		if slices.Contains(w.service.Names, app) {
			victim, largest = w, v
		}
	}
	return victim
}

// preempt launches a short task in place of a long one; false when no long one can be
// suspended for it.
func (e *extension) preempt(x work, out *sched.Actions) bool {
	w := e.victim(x.job.App().Name)
	if w == nil {
		return false
	}
	e.suspend(w, x, out)
	return true
}

// suspend makes the worker suspend its task and run another.
func (e *extension) suspend(w *worker, x work, out *sched.Actions) {
	h := &held{work: w.work, stint: w.stint, bill: e.pause(w)}
	h.stint.attained += e.now - w.stint.since
	w.held, w.overtook = h, true
	e.facts[h.job].held++
	e.unlink(w)
	e.launch(sched.Preempt, w, x, out).Kept = []sched.AttemptID{h.id()}
}

// reconcileIdle processes an idle notice that does not mean that the worker's task has
// ended: the task to be suspended had ended before, and the slot runs the short task
// already; or the slot sent the notice before the order to continue a suspended task
// reached it, and is sent that again.
func (e *extension) reconcileIdle(w *worker, id sched.AttemptID, kept []sched.AttemptID, out *sched.Actions) bool {
	if w.resumed && (id.Attempt == 0 || slices.Contains(kept, w.id())) {
		e.sendContinue(w, out)
		return true
	}
	if w.held != nil && id.Attempt > 0 && w.held.id() == id {
		w.ended.Add(e.now, id, w.held.job.Distributor())
		e.taskEnds(&w.held.work)
		e.settle(&w.held.bill, true)
		e.forget(e.release(w).job.ID, out)
		if w.overtook {
			w.overtook = false
			return true
		}
	}
	w.overtook = false
	for _, id := range kept {
		e.reconcileSuspended(w, id, out)
	}
	return false
}

// reconcileSuspended processes the notice that an idle slot has the attempt suspended.
// That may be news to the master, if an order from before the slot registered suspended
// it. An attempt unknown here is killed.
func (e *extension) reconcileSuspended(w *worker, id sched.AttemptID, out *sched.Actions) {
	switch {
	case w.held != nil && w.held.id() == id:
	case w.held == nil && w.job != nil && w.id() == id:
		h := &held{work: w.work, stint: w.stint, bill: e.pause(w)}
		e.facts[h.job].held++
		e.unlink(w)
		w.held = h
	default:
		e.kill(w, id, out)
	}
}

// preemptRefused implements hooks: a slot that refused to suspend its task still runs
// it.
func (e *extension) preemptRefused(w *worker, out *sched.Actions) {
	if !w.overtook || w.job != nil || w.held == nil {
		return
	}
	h := e.release(w)
	w.overtook, w.firm = false, true
	e.workers.occupy(w, h.work)
	e.unpause(w, h.bill)
	e.changed(w, h.job)
	e.begin(w, h.stint.attained, out)
}

// resume makes the worker continue its suspended task.
func (e *extension) resume(w *worker, out *sched.Actions) {
	h := e.release(w)
	w.resumed = true
	e.workers.occupy(w, h.work)
	e.unpause(w, h.bill)
	e.changed(w, h.job)
	e.begin(w, h.stint.attained, out)
	e.sendContinue(w, out)
}

func (e *extension) sendContinue(w *worker, out *sched.Actions) {
	m := out.Send(w.addr, sched.Continue)
	m.Job, m.First, m.Attempt, m.Seq, m.Epoch = w.job.ID, w.task, w.attempt, w.seq, e.epoch
}

// release removes the record of the worker's suspended task and returns it, nil if there
// is none.
func (e *extension) release(w *worker) *held {
	h := w.held
	if h != nil {
		w.held = nil
		e.facts[h.job].held--
		e.changed(w, h.job)
	}
	return h
}

// takeRefused implements hooks.
func (e *extension) takeRefused(w *worker, id sched.AttemptID) (x work, ok bool) {
	if w.held == nil || w.held.id() != id {
		return x, false
	}
	e.settle(&w.held.bill, true)
	return e.release(w).work, true
}

// mayAdopt implements hooks; false for a repetition.
func (e *extension) mayAdopt(w *worker, id sched.AttemptID) bool {
	return w.held == nil && (w.job == nil || w.id() != id)
}

// adopt implements hooks.
func (e *extension) adopt(w *worker, x work) {
	x.class = sched.Long // no other is suspended
	w.held = &held{work: x, bill: bill{leaf: x.job.Owner(), class: sched.Long}}
	e.facts[x.job].held++
	e.changed(w, x.job)
}

// lost implements hooks.
func (e *extension) lost(w *worker, m *sched.Message, out *sched.Actions) {
	if h := e.release(w); h != nil {
		e.counts.Lost++
		e.settle(&h.bill, true)
		out.SendLost(h.job.Distributor(), h.id(), w.node.id, m)
		e.forget(h.job.ID, out)
	}
}

// suspended implements hooks.
func (e *extension) suspended(j *queue.Job) int32 { return e.facts[j].held }

// eachSuspended implements hooks.
func (e *extension) eachSuspended(j *queue.Job, f func(task, attempt int32)) {
	e.eachHeld(j, func(w *worker) { f(w.held.task, w.held.attempt) })
}

// eachHeld calls f for the workers with a suspended task of the job, in order.
func (e *extension) eachHeld(j *queue.Job, f func(*worker)) {
	if e.suspended(j) == 0 {
		return
	}
	for _, w := range e.workers {
		if w != nil && w.held != nil && w.held.job == j {
			f(w)
		}
	}
}

// jobDropped implements hooks: suspended tasks are stopped.
func (e *extension) jobDropped(j *queue.Job, first, count int32, out *sched.Actions) {
	e.facts[j].dropped = true
	e.eachHeld(j, func(w *worker) {
		if w.held.task < first || w.held.task-first >= count {
			return
		}
		h := e.release(w)
		e.settle(&h.bill, true)
		e.kill(w, h.id(), out)
	})
}
