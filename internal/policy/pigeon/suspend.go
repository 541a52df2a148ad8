package pigeon

import (
	"slices"

	"github.com/pigeon-sched/pigeon/internal/queue"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// stint is how long a worker has run its task.
type stint struct {
	since    sched.Time // it runs since
	attained sched.Time // before that
	number   uint64     // counts stints from launches on
}

// held is a task that a worker has suspended.
type held struct {
	job           *queue.Job
	task, attempt int32
	moved         bool
	stint         stint
}

// begin notes that the worker starts its task, or goes on with it.
func (s *Master) begin(w *worker, attained sched.Time) {
	s.sorted.stints++
	w.stint = stint{since: s.sorted.now, attained: attained, number: s.sorted.stints}
}

// changed takes in that the worker began or ended a task of the job.
func (s *Master) changed(w *worker, j *queue.Job) {
	s.index.Changed(j)
	x := s.sorted
	preemptible := w.job != nil && w.job.Class == sched.Long && w.held == nil
	switch {
	case preemptible && w.longAt == 0:
		x.longs = append(x.longs, w)
		w.longAt = len(x.longs)
	case !preemptible && w.longAt > 0:
		last := x.longs[len(x.longs)-1]
		x.longs[w.longAt-1], last.longAt = last, w.longAt
		x.longs = x.longs[:len(x.longs)-1]
		w.longAt = 0
	}
}

// victim gives the worker whose long task is suspended for a short one of the
// application: that with the largest index, of equal ones the one begun last.
func (s *Master) victim(app string) (victim *worker) {
	x := s.sorted
	var largest float64
	for _, w := range x.longs {
		f, e := x.facts[w.job], estimate(w.job, x.index.cutoff)
		left := max(e-w.stint.attained-(x.now-w.stint.since), e/4)
		v := x.index.of(e, f.unfinished(w.job), x.now-f.arrival, left)
		if victim != nil && (v < largest || (v == largest && w.stint.number < victim.stint.number)) {
			continue
		}
		if slices.Contains(w.service.Names, app) {
			victim, largest = w, v
		}
	}
	return victim
}

// preempt runs a short task where a long one runs, which is suspended.
func (s *Master) preempt(j *queue.Job, task, attempt int32, moved bool, out *sched.Actions) bool {
	w := s.victim(j.App.Name)
	if w == nil {
		return false
	}
	h := &held{job: w.job, task: w.task, attempt: w.attempt, moved: w.moved, stint: w.stint}
	h.stint.attained += s.sorted.now - w.stint.since
	w.held, w.overtook = h, true
	s.sorted.facts[h.job].held++
	s.unlink(w)
	s.send(sched.Preempt, w, j, task, attempt, moved, out)
	return true
}

// endedBefore takes an idle notice that says that what was to be suspended had
// ended before: the slot went on with the short task at once.
func (s *Master) endedBefore(now sched.Time, w *worker, m *sched.Message, out *sched.Actions) bool {
	w.overtook = false
	if m.Seq != w.seq+2 {
		return false
	}
	w.seq = m.Seq
	if h := s.release(w); h != nil {
		w.ended.add(now, sched.AttemptID{Job: h.job.ID, Task: h.task, Attempt: h.attempt}, h.job.Owner())
		s.forget(h.job.ID, out)
	}
	return true
}

// resume has the worker go on with what it holds.
func (s *Master) resume(w *worker, out *sched.Actions) {
	h := s.release(w)
	s.occupy(w, h.job, h.task, h.attempt)
	w.moved = h.moved
	s.begin(w, h.stint.attained)
	m := out.Send(w.addr, sched.Continue)
	m.Job, m.First, m.Attempt, m.Seq, m.Epoch = h.job.ID, h.task, h.attempt, w.seq, s.epoch
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

// isHeld says that a task of the job is suspended here.
func (s *Master) isHeld(j *queue.Job) bool { return s.sorted != nil && s.sorted.facts[j].held > 0 }

// killHeld stops suspended tasks of the job.
func (s *Master) killHeld(j *queue.Job, first, count int32, out *sched.Actions) {
	if !s.isHeld(j) {
		return
	}
	for _, w := range s.workers {
		if w == nil || w.held == nil || w.held.job != j || w.held.task < first || w.held.task-first >= count {
			continue
		}
		h := s.release(w)
		k := out.Send(w.addr, sched.Kill)
		k.Job, k.First, k.Attempt, k.Epoch = j.ID, h.task, h.attempt, s.epoch
	}
}

// patienceOver is the token of the timers of patience.
const patienceOver = 1

// patience is a short task that waits for an idle worker before it has a long one
// suspended.
type patience struct {
	job  sched.JobID
	task int32
}

// wait starts the patience of short tasks that are about to be queued.
func (s *Master) wait(j *queue.Job, first, count int32, out *sched.Actions) {
	x := s.sorted
	if !x.options.Suspend || x.options.Patience == 0 || j.Class != sched.Short {
		return
	}
	for task := first; task < first+count; task++ {
		x.patient = append(x.patient, patience{j.ID, task})
		out.Timer(x.now+x.options.Patience, patienceOver)
	}
}

// impatient takes the end of a task's patience: if it still waits, the head of the
// queue is launched over a long task.
func (s *Master) impatient(out *sched.Actions) {
	x := s.sorted
	if x == nil || len(x.patient) == 0 {
		return
	}
	p := x.patient[0]
	x.patient = x.patient[1:]
	j := s.jobs[p.job]
	if j == nil || j.Waiting(p.task) == 0 {
		return
	}
	r := s.index.FirstOf([]string{j.App.Name}, sched.Short)
	if w := s.victim(j.App.Name); r == nil || w == nil {
		return
	}
	head, attempt, moved := r.Job, r.Attempt, r.Moved
	s.preempt(head, s.index.Take(r), attempt, moved, out)
}
