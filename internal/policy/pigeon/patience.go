package pigeon

import (
	"github.com/pigeon-sched/pigeon/internal/queue"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// patience is a short task that waits for an idle worker before a long one is
// suspended for it.
type patience struct {
	job  sched.JobID
	task int32
}

// startPatience starts the patience of count short tasks from x on, which are about to
// be queued.
func (e *extension) startPatience(x work, count int32, out *sched.Actions) {
	o := &e.options
	if !o.Suspend || o.Patience == 0 || x.class != sched.Short {
		return
	}
	for task := x.task; task < x.task+count; task++ {
		e.patient = append(e.patient, patience{x.job.ID, task})
		out.Timer(e.now+o.Patience, patienceOver)
	}
}

// patienceEnded ends the patience of the first task: if it still waits, the head of the
// queue is launched in place of a long task.
func (e *extension) patienceEnded(out *sched.Actions) {
	if len(e.patient) == 0 {
		return
	}
	p := e.patient[0]
	e.patient = e.patient[1:]
	j := e.jobs[p.job]
	if j == nil || !waitsAs(j, sched.Short, p.task) {
		return
	}
	r := e.index.FirstOf([]string{j.App().Name}, sched.Short)
	if r != nil && maySuspend(r) && e.victim(j.App().Name) != nil {
		e.preempt(e.next(r), out)
	}
}

// waitsAs reports whether the task waits in the queue of the class.
func waitsAs(j *queue.Job, c sched.Class, task int32) (waits bool) {
	j.EachRun(func(r *queue.Run) {
		waits = waits || (r.Class == c && task >= r.First && task-r.First < r.Count)
	})
	return waits
}
