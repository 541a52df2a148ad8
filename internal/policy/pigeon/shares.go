package pigeon

import (
	"github.com/pigeon-sched/pigeon/internal/queue"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/internal/shares"
)

const (
	// unknownCost is charged for a task about which nothing at all is known.
	unknownCost = sched.Second
	// mostCost bounds what is charged at a launch: 28 hours. The end of the task corrects it.
	mostCost = 100_000 * sched.Second
)

// bill is what an owner is charged for a task at a worker.
type bill struct {
	leaf    *shares.Node // nil: there is none
	class   sched.Class  // in which the task was launched
	charged sched.Time   // at the launch
	used    sched.Time   // until since
	since   sched.Time   // it runs
}

// begun returns the start of the task, as if it had never been suspended.
func (b *bill) begun() sched.Time {
	if b.leaf == nil {
		return sched.Unknown
	}
	return b.since - b.used
}

// setShares replaces the shares of owners; a list that is not valid changes nothing.
func (s *Master) setShares(from sched.Addr, m *sched.Message) {
	if from.Role == sched.Shell && m.More != nil {
		s.index.Tree().Set(m.More.Shares, m.More.HalfLife, s.now)
	}
}

// charge opens the bill of the task that the worker has just been given.
func (s *Master) charge(w *worker) { s.chargeFor(w, w.job, w.class, w.waited) }

// chargeFor opens the bill of one slot of a task.
func (s *Master) chargeFor(w *worker, j *queue.Job, c sched.Class, waited bool) {
	leaf := j.Owner()
	w.bill = bill{leaf: leaf, class: c, charged: s.cost(j, c), since: s.now}
	s.index.Tree().Launch(leaf, c, w.bill.charged, waited)
}

// cost returns the charge of a task at its launch: the estimate of its job, else how
// long tasks of its owner took lately. No short task is charged more than the cutoff as
// such.
func (s *Master) cost(j *queue.Job, c sched.Class) sched.Time {
	e, cutoff := j.Estimate, s.cfg.Params.Cutoff
	if e <= 0 {
		e = j.Owner().Mean(c)
	}
	if e <= 0 {
		e = cutoff
	}
	if e <= 0 {
		e = unknownCost
	}
	if c == sched.Short && cutoff > 0 {
		e = min(e, cutoff)
	}
	return min(e, mostCost)
}

// closeBill closes a bill by what the task really used. The time past the cutoff that a
// short task used is charged to its owner's long share.
func (s *Master) closeBill(b *bill, paused bool) {
	if b.leaf == nil {
		return
	}
	used, over := b.used, sched.Time(0)
	if !paused {
		used += s.now - b.since
	}
	if cutoff := s.cfg.Params.Cutoff; b.class == sched.Short && cutoff > 0 && used > cutoff {
		used, over = cutoff, used-cutoff
	}
	s.index.Tree().End(b.leaf, b.class, b.charged, used, paused)
	if over > 0 {
		s.index.Tree().Charge(b.leaf, sched.Long, over)
	}
	*b = bill{}
}

// pause takes the bill of a task that is suspended: that time is not charged.
func (s *Master) pause(w *worker) bill {
	b := w.bill
	if w.bill = (bill{}); b.leaf != nil {
		b.used += s.now - b.since
		s.index.Tree().Pause(b.leaf, b.class)
	}
	return b
}

// unpause continues the bill of a task that the worker continues.
func (s *Master) unpause(w *worker, b bill) {
	if w.bill = b; b.leaf != nil {
		w.bill.since = s.now
		s.index.Tree().Continue(b.leaf, b.class)
	}
}

// mayLaunch reports whether no max forbids launching a task of the job.
func (s *Master) mayLaunch(j *queue.Job) bool { return s.index.Tree().MayLaunch(j.Owner()) }

// changeOwner makes a job one of another owner or priority, as its distributor states:
// a registering worker reports no priority.
func (s *Master) changeOwner(j *queue.Job, owner string, priority int32) {
	if j.Owner().Path() == owner && j.Priority() == priority {
		return
	}
	s.wide.putBack(j)
	for _, w := range s.workers {
		if w == nil {
			continue
		}
		if w.job == j || w.of == j {
			s.closeBill(&w.bill, false)
		}
		for _, h := range w.held {
			if h.job == j {
				s.closeBill(&h.bill, true)
			}
		}
	}
	s.index.Change(j, owner, priority)
	for _, w := range s.workers {
		if w == nil {
			continue
		}
		switch j {
		case w.job:
			s.charge(w)
		case w.of:
			s.chargeFor(w, j, j.Class, false)
		}
		for _, h := range w.held {
			if h.job == j {
				h.bill = bill{leaf: j.Owner(), class: sched.Long}
			}
		}
	}
}

// offerFreed makes idle workers serve tasks that a max forbade until now.
func (s *Master) offerFreed(out *sched.Actions) {
	for s.index.Tree().Freed() {
		for c, kinds := range mayUse {
			for e := s.index.TakeIdleFor(sched.Class(c), kinds); e != nil; e = s.index.TakeIdleFor(sched.Class(c), kinds) {
				s.feed(s.workers[e.Worker], out)
			}
		}
	}
}

// Owners implements [sched.GroupView].
func (s *Master) Owners() []sched.OwnerView { return s.index.Tree().Owners() }
