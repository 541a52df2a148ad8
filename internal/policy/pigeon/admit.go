package pigeon

import (
	"github.com/pigeon-sched/pigeon/internal/queue"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// admit finds a place for tasks that are new here. Task 0 of a job on trial goes
// first and alone, as a short one.
func (s *Master) admit(now sched.Time, j *queue.Job, first, count int32, m *sched.Message, out *sched.Actions) {
	x := work{job: j, task: first, attempt: m.Attempt, class: j.Class, moved: m.Marks.Has(sched.Moved)}
	if first == 0 && j.Class == sched.Long && m.Marks.Has(sched.Canary) && s.trying() {
		canary := x
		canary.class, canary.trial = sched.Short, true
		s.settle(now, canary, 1, m.Head, out)
		x.task++
		count--
	}
	s.settle(now, x, count, m.Head, out)
}

// settle launches so many tasks, from x on, queues them, or sends them elsewhere.
func (s *Master) settle(now sched.Time, x work, count int32, head bool, out *sched.Actions) {
	x, count = s.employ(x, count, out)
	if s.sorted != nil {
		for count > 0 && s.elsewhere(x, out) {
			x.task++
			count--
		}
		s.wait(x, count, out)
	}
	switch {
	case count == 0:
	case head:
		s.index.PushHeadAs(x.class, now, x.job, x.task, count, x.attempt).Moved = x.moved
	default:
		s.index.PushTailAs(x.class, now, x.job, x.task, count, x.attempt).Moved = x.moved
	}
}

// employ launches tasks at idle workers, and gives the first that found none and
// how many did not.
func (s *Master) employ(x work, count int32, out *sched.Actions) (rest work, left int32) {
	for _, kind := range mayUse[x.class] {
		for count > 0 {
			e := s.index.TakeIdle(x.job.App, kind)
			if e == nil {
				break
			}
			s.launch(sched.Launch, s.workers[e.Owner], x, out)
			x.task++
			count--
		}
	}
	return x, count
}

// next takes the first task out of a queued run. Only a canary waits in another
// queue than its job's.
func (s *Master) next(r *queue.Run) work {
	x := work{job: r.Job, attempt: r.Attempt, class: r.Class, moved: r.Moved, trial: r.Class != r.Job.Class}
	x.task = s.index.Take(r)
	return x
}

// launch sends a task to a worker: a Launch, or a Preempt.
func (s *Master) launch(kind sched.Kind, w *worker, x work, out *sched.Actions) *sched.Message {
	s.occupy(w, x)
	s.counts.Launches++
	if s.sorted != nil {
		s.begin(w, 0, out)
	}
	m := out.Send(w.addr, kind)
	m.Job, m.First, m.Attempt, m.Class, m.App = x.job.ID, x.task, x.attempt, x.class, x.job.App.Name
	m.Owner, m.Estimate, m.Seq, m.Epoch = x.job.Owner(), x.job.Estimate, w.seq, s.epoch
	return m
}
