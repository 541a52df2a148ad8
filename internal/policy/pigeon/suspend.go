package pigeon

import (
	"slices"

	"github.com/pigeon-sched/pigeon/internal/queue"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// suspension is what a master knows of a slot whose task it may suspend.
type suspension struct {
	stint    stint // of what it runs
	held     *held // suspended there, nil for none
	overtook bool  // what it runs was sent to suspend what ran
	resumed  bool  // what it runs was suspended before
	firm     bool  // it would not suspend what it runs
	yielding bool  // what it runs is being stopped, to start anew
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
}

// begin notes that the worker starts its task, or goes on with it.
func (s *Master) begin(w *worker, attained sched.Time, out *sched.Actions) {
	s.sorted.stints++
	w.stint = stint{since: s.sorted.now, attained: attained, number: s.sorted.stints}
	if s.trying() && w.class == sched.Short {
		s.sorted.watched.add(w, s.sorted.now+s.cfg.Params.Cutoff-attained, out)
	}
}

// preemptible reports whether the worker's task can be suspended: it is long, its backend
// can stop it, and the slot holds no other.
func (w *worker) preemptible() bool {
	return w.job != nil && w.class == sched.Long && w.held == nil && !w.firm && !w.yielding && w.job.Marks.Has(sched.Stoppable)
}

// changed takes in that the worker began or ended a task of the job.
func (s *Master) changed(w *worker, j *queue.Job) {
	s.index.Changed(j)
	x := s.sorted
	switch can := w.preemptible(); {
	case can && w.longAt == 0:
		x.longs = append(x.longs, w)
		w.longAt = len(x.longs)
	case !can && w.longAt > 0:
		last := x.longs[len(x.longs)-1]
		x.longs[w.longAt-1], last.longAt = last, w.longAt
		x.longs = x.longs[:len(x.longs)-1]
		w.longAt = 0
	}
}

// victim returns the worker whose long task is suspended for a short one of the
// application: that with the largest index, of equal ones the one begun last.
func (s *Master) victim(app string) (victim *worker) {
	x := s.sorted
	var largest float64
	for _, w := range x.longs {
		f, e := x.facts[w.job], estimate(w.job, x.index.cutoff)
		left := max(e-w.stint.attained-(x.now-w.stint.since), e/4)
		v := x.index.of(e, x.index.unfinished(f, w.job), x.now-f.arrival, left)
		if victim != nil && (v < largest || (v == largest && w.stint.number < victim.stint.number)) {
			continue
		}
		if slices.Contains(w.service.Names, app) {
			victim, largest = w, v
		}
	}
	return victim
}

// preempt runs a short task where a long one runs; false when no long one can be
// suspended for it.
func (s *Master) preempt(x work, out *sched.Actions) bool {
	w := s.victim(x.job.App.Name)
	if w == nil {
		return false
	}
	s.suspend(w, x, out)
	return true
}

// suspend has the worker stop its task and run another.
func (s *Master) suspend(w *worker, x work, out *sched.Actions) {
	h := &held{work: w.work, stint: w.stint}
	h.stint.attained += s.sorted.now - w.stint.since
	w.held, w.overtook = h, true
	s.sorted.facts[h.job].held++
	s.unlink(w)
	s.launch(sched.Preempt, w, x, out).Kept = []sched.AttemptID{h.id()}
}

// goesOn takes an idle notice that does not mean that the worker's task has ended:
// what was to be suspended had ended before, and the slot went on with the short
// task at once; or the slot told something else of itself before it was to go on
// with a suspended task, which it is told again then.
func (s *Master) goesOn(now sched.Time, w *worker, m *sched.Message, out *sched.Actions) bool {
	if w.resumed && (m.Attempt == 0 || slices.Contains(m.Kept, w.id())) {
		s.goOn(w, out)
		return true
	}
	if id := m.AttemptID(); w.held != nil && m.Attempt > 0 && w.held.id() == id {
		w.ended.Add(now, id, w.held.job.Owner())
		s.sorted.taskEnds(&w.held.work)
		s.forget(s.release(w).job.ID, out)
		if w.overtook {
			w.overtook = false
			return true
		}
	}
	w.overtook = false
	for _, id := range m.Kept {
		s.keeps(w, id, out)
	}
	return false
}

// keeps takes in that an idle slot has the attempt suspended. That may be news: an
// order from before the slot registered had it overtaken. What is not known here
// was given up.
func (s *Master) keeps(w *worker, id sched.AttemptID, out *sched.Actions) {
	switch {
	case w.held != nil && w.held.id() == id:
	case w.held == nil && w.job != nil && w.id() == id:
		h := &held{work: w.work, stint: w.stint}
		s.sorted.facts[h.job].held++
		s.unlink(w)
		w.held = h
	default:
		s.kill(w, id, out)
	}
}

// stays takes in that a slot refused to suspend what it runs.
func (s *Master) stays(w *worker, out *sched.Actions) {
	h := s.release(w)
	w.overtook, w.firm = false, true
	s.occupy(w, h.work)
	s.begin(w, h.stint.attained, out)
}

// resume has the worker go on with what it holds.
func (s *Master) resume(w *worker, out *sched.Actions) {
	h := s.release(w)
	w.resumed = true
	s.occupy(w, h.work)
	s.begin(w, h.stint.attained, out)
	s.goOn(w, out)
}

func (s *Master) goOn(w *worker, out *sched.Actions) {
	m := out.Send(w.addr, sched.Continue)
	m.Job, m.First, m.Attempt, m.Seq, m.Epoch = w.job.ID, w.task, w.attempt, w.seq, s.epoch
}

// release takes what the worker holds out of the books, nil when that is nothing.
func (s *Master) release(w *worker) *held {
	h := w.held
	if h != nil {
		w.held = nil
		s.sorted.facts[h.job].held--
		s.changed(w, h.job)
	}
	return h
}

// isHeld reports whether a task of the job is suspended here.
func (s *Master) isHeld(j *queue.Job) bool { return s.sorted != nil && s.sorted.facts[j].held > 0 }

// eachHeld calls f for the suspended tasks of the job, in order of their workers.
func (s *Master) eachHeld(j *queue.Job, f func(*worker)) {
	if !s.isHeld(j) {
		return
	}
	for _, w := range s.workers {
		if w != nil && w.held != nil && w.held.job == j {
			f(w)
		}
	}
}

// killHeld stops suspended tasks of the job.
func (s *Master) killHeld(j *queue.Job, first, count int32, out *sched.Actions) {
	s.eachHeld(j, func(w *worker) {
		if w.held.task < first || w.held.task-first >= count {
			return
		}
		h := s.release(w)
		s.kill(w, h.id(), out)
	})
}
