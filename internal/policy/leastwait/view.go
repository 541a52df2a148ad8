package leastwait

import (
	"iter"
	"slices"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// What a master's shell may show between steps. Long tasks wait at their workers
// here, and short ones come to these from elsewhere.

// Totals returns the figures of the cluster.
func (s *Master) Totals() sched.GroupTotals {
	t := sched.GroupTotals{Launches: s.launches, Lost: s.lost}
	for c := range t.Oldest {
		t.Oldest[c] = sched.Unknown
	}
	for k := range t.Idle {
		t.Idle[k] = sched.Unknown
	}
	reserved := s.reserved()
	t.Workers[sched.General], t.Workers[sched.Reserved] = s.alive-reserved, reserved
	t.Busy = t.Workers
	for _, w := range s.workers {
		if w != nil {
			t.Queued[sched.Long] += len(w.assigned)
		}
	}
	return t
}

// Serves returns the applications that long jobs may name, sorted.
func (s *Master) Serves() []string { return s.serves }

// Serving returns how many workers serve the application; how many of them are idle is not known.
func (s *Master) Serving(app string) (workers int, idle [sched.NumWorkerKinds]int) {
	for k := range idle {
		idle[k] = sched.Unknown
	}
	if slices.Contains(s.serves, app) {
		workers = s.alive
	}
	return workers, idle
}

// WorkerView returns what is known of a worker. One that drains is in no partition.
func (s *Master) WorkerView(a sched.Addr) sched.WorkerView {
	v := sched.WorkerView{Tasks: sched.Unknown}
	w := s.worker(a.ID)
	if w == nil || w.leaving {
		return v
	}
	if s.divided {
		v.Reserved = !w.general
		return v
	}
	before := 0
	for _, w := range s.workers[:a.ID] {
		if w != nil && !w.leaving {
			before++
		}
	}
	v.Reserved = before < s.reserved()
	return v
}

// Share returns what the workers have of a long job, with at most that many of the
// tasks that run.
func (s *Master) Share(id sched.JobID, most int) (v sched.JobShare) {
	if s.jobs[id] == 0 {
		return v
	}
	for _, w := range s.workers {
		if w == nil {
			continue
		}
		for _, t := range w.assigned {
			if t.msg.Job == id {
				v.Queued++
			}
		}
		if t := w.running; t != nil && t.msg.Job == id {
			v.Running++
			if len(v.Tasks) < most {
				v.Tasks = append(v.Tasks, sched.TaskView{Task: t.msg.First, Attempt: t.msg.Attempt, Worker: w.addr, Since: w.done - t.msg.Estimate})
			}
		}
	}
	return v
}

// Running yields the long job of every worker that runs one, and its distributor.
func (s *Master) Running() iter.Seq2[sched.JobID, sched.Addr] {
	return func(yield func(sched.JobID, sched.Addr) bool) {
		for _, w := range s.workers {
			if w != nil && w.running != nil && !yield(w.running.msg.Job, w.running.msg.Distributor) {
				return
			}
		}
	}
}

// Contended implements [sched.GroupView]: there is one application.
func (s *Master) Contended(_, _ string, _ sched.Class) bool { return false }

// Owners implements [sched.GroupView]: workers are not shared by owner.
func (s *Master) Owners() []sched.OwnerView { return nil }
