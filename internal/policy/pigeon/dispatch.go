package pigeon

import (
	"github.com/pigeon-sched/pigeon/internal/queue"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// idle processes the notice that a slot is free since sequence number Seq; an older or
// repeated one is ignored. The task launched there has ended, or was refused, in
// which case the slot sends a refusal.
func (s *Master) idle(now sched.Time, w *worker, m *sched.Message, out *sched.Actions) {
	if w == nil || m.Seq <= w.seq {
		return
	}
	w.seq = m.Seq
	if s.hooks.idleNotice(w, m.AttemptID(), m.Kept, out) {
		return
	}
	if w.job != nil {
		w.ended.Add(now, w.id(), w.job.Distributor(), w.work.seq)
		s.vacate(w, out)
	} else if w.follows.Attempt > 0 {
		s.wide.unfollow(w, out)
	}
	if !w.Listed() {
		s.feed(w, out)
	}
}

// feed sends a free worker its next task, or puts it at the tail of its idle
// list. Where tasks of several slots wait, the end of the step decides.
func (s *Master) feed(w *worker, out *sched.Actions) {
	if s.wide != nil && s.wide.isActive() {
		s.wide.keep(w)
		return
	}
	s.serve(w, out)
}

func (s *Master) serve(w *worker, out *sched.Actions) {
	r := s.choose(w)
	switch {
	case s.hooks.continues(w, r, out):
	case r != nil:
		s.launch(sched.Launch, w, s.next(r), out)
	default:
		s.index.PushIdle(&w.Idler, w.service, w.kind())
		s.hooks.becameIdle(w, out)
	}
}

// choose returns the run that a free worker serves next. A reserved worker serves
// the short queue only; a general one too, except that of every W consecutive
// tasks that general workers take from the queues at least one is long while the
// long queue is not empty (section 3.3, weighted fair queuing).
func (s *Master) choose(w *worker) *queue.Run {
	short := s.index.First(w.service, sched.Short)
	if w.reserved {
		return short
	}
	long := s.index.First(w.service, sched.Long)
	switch {
	case short == nil || (long != nil && s.weight.longIsDue()):
		if long != nil {
			s.weight.passed = 0
		}
		return long
	case s.index.Queued(sched.Long) > 0:
		s.weight.passed++
	}
	return short
}

// weight is the rule that serves a long task although short ones wait.
type weight struct {
	every  int // one of this many tasks is long; 0: none by this rule
	passed int // short tasks that general workers took since, while long ones waited
}

// longIsDue reports whether the next task of a general worker must be long.
func (w *weight) longIsDue() bool { return w.every > 0 && w.passed >= w.every-1 }

// refused puts a task that its slot refused back at the head of its queue. The slot's
// own Idle makes it usable again. If that notice arrived first, the task was recorded as
// ended and is no longer known here: it is returned to its distributor.
//
// A refusal names the state of its slot, which is no older than the one that the launch
// named. An older one is about a former launch of the attempt to the slot: that message
// came twice, and was refused twice.
func (s *Master) refused(now sched.Time, w *worker, m *sched.Message, out *sched.Actions) {
	if w == nil {
		return
	}
	id := m.AttemptID()
	if s.wide.companionRefused(w, m, out) {
		return
	}
	var x work
	var ok bool
	if w.job != nil && w.id() == id {
		if m.Seq < w.work.seq {
			return
		}
		x, ok = w.work, true
		w.bill.since = s.now // it never ran
		s.unlink(w)
	} else {
		x, ok = s.hooks.takeRefused(w, id, m.Seq)
	}
	if !ok {
		if distributor, ok := w.ended.Refused(id, m.Seq); ok {
			s.counts.Refused++
			out.SendReturned(distributor, m.Job, m.First, 1, m.Attempt, false)
		}
		return
	}
	s.counts.Refused++
	s.wide.leadRefused(w, id, out)
	if j := x.job; j.App().Workers == 0 || j.App().Demand.Gang { // a gang is tried again whole
		out.SendReturned(j.Distributor(), j.ID, x.task, 1, x.attempt, false)
	} else {
		if !x.trial {
			x.class = j.Class
		}
		s.place(now, x, 1, entry{head: true}, out)
	}
	s.hooks.preemptRefused(w, out)
	s.forget(x.job.ID, out)
}
