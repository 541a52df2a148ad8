package pigeon

import (
	"github.com/pigeon-sched/pigeon/internal/queue"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// undeclared reports whether the job's class is unknown.
func undeclared(j *queue.Job) bool { return j.Marks.Has(sched.Undeclared) }

// overruns are the hooks of the paper's policy. They follow undeclared jobs alone: when a
// task of one has run for a cutoff, its job becomes long, and those that wait are queued
// as long.
type overruns struct {
	noHooks
	master  *Master
	now     sched.Time // of the step
	watched watchlist
}

// stepBegins implements hooks.
func (o *overruns) stepBegins(now sched.Time) {
	o.now = now
	o.master.index.Renew(now)
}

// started implements hooks.
func (o *overruns) started(w *worker, out *sched.Actions) {
	if undeclared(w.job) && w.class == sched.Short {
		o.watched.add(w, o.now+o.master.cfg.Params.Cutoff, out)
	}
}

// released implements hooks.
func (o *overruns) released(w *worker, _ *queue.Job) { o.watched.remove(w) }

// jobRepeated implements hooks. A registering worker does not say that its job is
// undeclared; the distributor does.
func (o *overruns) jobRepeated(j *queue.Job, _ sched.Time, _ int32, marks sched.Marks) {
	j.Marks = lasting(marks) | j.Marks&sched.Undeclared
}

// timeout implements hooks.
func (o *overruns) timeout(token uint64, out *sched.Actions) {
	if token != cutoffOver {
		return
	}
	o.watched.overdue(o.now, out, func(w *worker) {
		if j := w.job; j.Class == sched.Short {
			o.master.sendClass(j, sched.Long, out)
			o.master.reclass(o.now, j, sched.Long, out)
		}
	})
}

// valid implements hooks.
func (o *overruns) valid() error { return o.watched.valid() }

// sendClass sends the job's distributor the class that a task showed.
func (s *Master) sendClass(j *queue.Job, c sched.Class, out *sched.Actions) {
	m := out.Send(j.Distributor(), sched.Reclass)
	m.Job, m.Class = j.ID, c
}
