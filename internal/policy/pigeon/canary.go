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

// maySuspend reports whether the first task of a waiting run may suspend another one.
func maySuspend(r *queue.Run) bool {
	x := first(r)
	return !comesLast(&x)
}

// overran makes a short task that has run for a cutoff count as long. A canary is
// stopped, to be started again later, if other tasks wait; any other task shows that its
// job is long ([extension.isLong]), and the job is reclassed here at once. If a short task waits and this one
// can be suspended, it is.
func (e *extension) overran(w *worker, out *sched.Actions) {
	j, trial := w.job, w.trial
	w.class, w.trial = sched.Long, false
	if !trial && j.Class == sched.Short && e.isLong(j) {
		e.sendClass(j, sched.Long, out)
		e.reclass(e.now, j, sched.Long, out)
	}
	wanted := len(w.held) > 0 || e.index.Queued(sched.Short)+e.index.Queued(sched.Long) > 0
	if trial && wanted && j.Marks.Has(sched.Restartable) {
		w.yielding = true
		y := out.Send(w.addr, sched.Yield)
		y.Job, y.First, y.Attempt, y.Epoch = j.ID, w.task, w.attempt, e.epoch
	}
	e.changed(w, j)
	if e.options.Suspend && w.preemptible() {
		if r := e.index.First(w.service, sched.Short); r != nil && maySuspend(r) {
			e.suspend(w, e.next(r), out)
		}
	}
}
