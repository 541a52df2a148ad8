package pigeon

import (
	"slices"

	"github.com/pigeon-sched/pigeon/internal/queue"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/internal/shares"
)

// suspension is a master's record of a slot whose task it may suspend.
type suspension struct {
	stint    stint   // of its running task
	held     []*held // suspended there, in this order
	overtook bool    // its task was sent to suspend the one before
	resumed  bool    // its running task was suspended before
	firm     bool    // it refused to suspend its task
	yielding bool    // its task is being stopped, to be started again
	longAt   int     // 1 + place among those that can be preempted, else 0
	watch    watch   // of its running task
}

// stint is how long a worker has run its task.
type stint struct {
	since    sched.Time // it runs since
	attained sched.Time // before that
	number   uint64     // counts stints from launches on
}

// begin records that the worker starts or continues its task.
func (e *extension) begin(w *worker, attained sched.Time, out *sched.Actions) {
	e.stints++
	w.stint = stint{since: e.now, attained: attained, number: e.stints}
	if e.watches(w) {
		e.watched.add(w, e.now+e.cfg.Params.Cutoff-attained, out)
	}
}

// preemptible reports whether the worker's task can be suspended: it is long, its backend
// can stop it, and the slot has room for it.
func (w *worker) preemptible() bool {
	return w.job != nil && w.class == sched.Long && len(w.held) < w.room() && !w.firm && !w.yielding && w.job.Marks.Has(sched.Stoppable)
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
// application: of the owner that exceeds its share of the running tasks most, the task
// with the largest index, of equal ones the one begun last.
func (e *extension) victim(app string) (victim *worker) {
	var largest float64
	for _, w := range e.longs {
		v := e.asVictim(w)
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
	if w.overtook && len(w.held) > 0 {
		w.seq++ // the order before this one changed the slot, and no notice has reported that
	}
	w.overtook = true
	e.hold(w, h)
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
	if h := w.holding(id); h != nil {
		w.ended.Add(e.now, id, h.job.Distributor(), h.seq)
		e.observe(h.job, h.stint.attained)
		e.taskEnds(&h.work)
		e.closeBill(&h.bill, true)
		e.release(w, h)
		e.forget(h.job.ID, out)
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
	case w.holding(id) != nil:
	case len(w.held) < mostSuspended && w.job != nil && w.id() == id:
		h := &held{work: w.work, stint: w.stint, bill: e.pause(w)}
		e.hold(w, h)
		e.unlink(w)
	default:
		e.kill(w, id, out)
	}
}

// preemptRefused implements hooks: a slot that refused to suspend its task still runs
// it.
func (e *extension) preemptRefused(w *worker, out *sched.Actions) {
	if !w.overtook || w.job != nil || len(w.held) == 0 {
		return
	}
	h := w.held[len(w.held)-1]
	e.release(w, h)
	w.overtook, w.firm = false, true
	e.workers.occupy(w, h.work)
	e.unpause(w, h.bill)
	e.changed(w, h.job)
	e.begin(w, h.stint.attained, out)
}

// resume makes the worker continue a suspended task: of several, the one with the
// smallest index.
func (e *extension) resume(w *worker, out *sched.Actions) {
	h := e.nextHeld(w)
	e.release(w, h)
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

// takeRefused implements hooks.
func (e *extension) takeRefused(w *worker, id sched.AttemptID, seq uint64) (x work, ok bool) {
	h := w.holding(id)
	if h == nil || seq < h.seq {
		return x, false
	}
	e.closeBill(&h.bill, true)
	e.release(w, h)
	return h.work, true
}

// mayAdopt implements hooks; false for a repetition.
func (e *extension) mayAdopt(w *worker, id sched.AttemptID) bool {
	return len(w.held) < mostSuspended && w.holding(id) == nil && (w.job == nil || w.id() != id)
}

// adopt implements hooks.
func (e *extension) adopt(w *worker, x work) {
	x.class = sched.Long // no other is suspended
	e.hold(w, &held{work: x, bill: bill{leaf: x.job.Owner(), class: sched.Long}})
	e.changed(w, x.job)
}

// lost implements hooks.
func (e *extension) lost(w *worker, m *sched.Message, out *sched.Actions) {
	for len(w.held) > 0 {
		h := w.held[0]
		e.release(w, h)
		e.closeBill(&h.bill, true)
		if out.SendLost(h.job.Distributor(), h.id(), w.node.id, m) {
			e.counts.Lost++
		}
		e.forget(h.job.ID, out)
	}
}
