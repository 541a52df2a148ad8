package pigeon

import (
	"github.com/pigeon-sched/pigeon/internal/queue"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// admit places tasks that are new here. Task 0 of a job on trial is placed first and
// alone, as a short one.
func (s *Master) admit(now sched.Time, j *queue.Job, first, count int32, m *sched.Message, out *sched.Actions) {
	x := work{job: j, task: first, attempt: m.Attempt, class: j.Class, moved: m.Marks.Has(sched.Moved)}
	if first == 0 && isUnit(j) && s.hooks.isTrial(j, m.Marks) {
		canary := x
		canary.class, canary.trial = sched.Short, true
		s.place(now, canary, 1, s.entryOf(m), out)
		x.task++
		count--
	}
	if n := s.asShort(x, count); n < count {
		s.place(now, x, n, s.entryOf(m), out)
		x.task, count, x.class = x.task+n, count-n, sched.Long
	}
	s.place(now, x, count, s.entryOf(m), out)
}

// asShort returns how many of count tasks from x on are served as of their job's class.
func (s *Master) asShort(x work, count int32) int32 {
	if x.class != sched.Short || !undeclared(x.job) || !isUnit(x.job) {
		return count
	}
	return s.hooks.asShort(x.job, count)
}

// entry is where tasks enter their queue: at its head, by their age, or at its tail.
type entry struct {
	head, aged bool
	since      sched.Time // since when aged tasks wait
}

// entryOf returns where the tasks of a message enter. For some time after the start of a master
// that follows another one, what waited there comes again from each frontend in turn, after jobs
// that are younger.
func (s *Master) entryOf(m *sched.Message) entry {
	if m.Head || s.now >= s.recovery.sorts || m.Arrival == 0 {
		return entry{head: m.Head}
	}
	return entry{aged: true, since: min(m.Arrival, s.now)}
}

// place launches count tasks, from x on, and queues those for which no worker is idle.
func (s *Master) place(now sched.Time, x work, count int32, at entry, out *sched.Actions) {
	if x, count = s.launchAtIdle(x, count, out); isUnit(x.job) {
		x, count = s.hooks.placeElsewhere(x, count, out)
	}
	switch {
	case count == 0:
	case at.aged:
		s.index.PushByAge(x.class, at.since, x.job, x.task, count, x.attempt).Moved = x.moved
	case at.head:
		s.index.PushHeadAs(x.class, now, x.job, x.task, count, x.attempt).Moved = x.moved
	default:
		s.index.PushTailAs(x.class, now, x.job, x.task, count, x.attempt).Moved = x.moved
	}
}

// launchAtIdle launches tasks at idle workers. It returns the first task for which none
// was idle, or that a max forbids, and the number of such tasks. No worker is given a task with a
// demand this way.
func (s *Master) launchAtIdle(x work, count int32, out *sched.Actions) (rest work, left int32) {
	for _, kind := range mayUse[x.class] {
		for count > 0 && s.mayLaunch(x.job) {
			e := s.index.TakeIdle(x.job.App(), kind)
			if e == nil {
				break
			}
			s.launch(sched.Launch, s.workers[e.Worker], x, out)
			x.task++
			count--
		}
	}
	return x, count
}

// next removes and returns the first task of a queued run. Only a canary, and tasks
// past the window of an undeclared job, wait in another queue than their job's.
func (s *Master) next(r *queue.Run) work {
	x := first(r)
	s.index.Take(r)
	return x
}

// first returns the first task of a queued run.
func first(r *queue.Run) work {
	return work{job: r.Job, task: r.First, attempt: r.Attempt, class: r.Class, moved: r.Moved, trial: r.Class != r.Job.Class && !undeclared(r.Job), waited: true}
}

// launch sends a task to a worker: a Launch, or a Preempt.
func (s *Master) launch(kind sched.Kind, w *worker, x work, out *sched.Actions) *sched.Message {
	x.seq = w.seq
	s.workers.occupy(w, x)
	s.counts.Launches++
	s.charge(w)
	s.hooks.started(w, out)
	return s.message(kind, w, x, out)
}

// message sends the message of a launch.
func (s *Master) message(kind sched.Kind, w *worker, x work, out *sched.Actions) *sched.Message {
	m, a := out.Send(w.addr, kind), x.job.App()
	m.Job, m.First, m.Attempt, m.Class, m.App = x.job.ID, x.task, x.attempt, x.class, a.Name
	m.Distributor, m.Estimate, m.Seq, m.Epoch = x.job.Distributor(), x.job.Estimate, w.seq, s.epoch
	m.Owner, m.Slots, m.Gang = x.job.Owner().Path(), a.Demand.Slots, a.Demand.Gang
	return m
}

// reclassed moves the waiting tasks of a job to the queue of its new class.
func (s *Master) reclassed(now sched.Time, m *sched.Message, out *sched.Actions) {
	s.recovery.reclass(m.Job, m.Class)
	if j := s.jobs[m.Job]; j != nil && j.Class != m.Class {
		s.reclass(now, j, m.Class, out)
	}
}

// reclass gives a job another class, because its tasks have shown that, here or in another group.
func (s *Master) reclass(now sched.Time, j *queue.Job, c sched.Class, out *sched.Actions) {
	s.requeue(now, j, c, out)
	s.hooks.jobReclassed(j)
	s.index.Changed(j)
}

// requeue moves the waiting tasks of the job to the tail of the queue of the class.
// Running ones are not touched.
func (s *Master) requeue(now sched.Time, j *queue.Job, c sched.Class, out *sched.Actions) {
	s.wide.putBack(j)
	s.index.Reclass(j, c, func(r *queue.Run) {
		x, count := work{job: j, task: r.First, attempt: r.Attempt, class: c, moved: r.Moved}, r.Count
		x, count = s.launchAtIdle(x, count, out) // a reserved worker may be idle
		if count > 0 {
			tail := s.index.PushTail(now, j, x.task, count, x.attempt)
			tail.Moved, tail.Since = x.moved, r.Since
		}
	})
}
