package pigeon

import (
	"github.com/pigeon-sched/pigeon/internal/queue"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// patience is a short task that waits for an idle worker before it has a long one
// suspended.
type patience struct {
	job  sched.JobID
	task int32
}

// wait starts the patience of short tasks that are about to be queued, count of
// them from x on.
func (s *Master) wait(x work, count int32, out *sched.Actions) {
	o := &s.sorted.options
	if !o.Suspend || o.Patience == 0 || x.class != sched.Short {
		return
	}
	for task := x.task; task < x.task+count; task++ {
		s.sorted.patient = append(s.sorted.patient, patience{x.job.ID, task})
		out.Timer(s.sorted.now+o.Patience, patienceOver)
	}
}

// impatient takes the end of a task's patience: if it still waits, the head of the
// queue is launched over a long task.
func (s *Master) impatient(out *sched.Actions) {
	x := s.sorted
	if len(x.patient) == 0 {
		return
	}
	p := x.patient[0]
	x.patient = x.patient[1:]
	j := s.jobs[p.job]
	if j == nil || !waitsAs(j, sched.Short, p.task) {
		return
	}
	r := s.index.FirstOf([]string{j.App.Name}, sched.Short)
	if r != nil && s.victim(j.App.Name) != nil {
		s.preempt(s.next(r), out)
	}
}

// waitsAs reports whether the task waits in the queue of the class.
func waitsAs(j *queue.Job, c sched.Class, task int32) (waits bool) {
	j.EachRun(func(r *queue.Run) {
		waits = waits || (r.Class == c && task >= r.First && task-r.First < r.Count)
	})
	return waits
}
