package pigeon

import (
	"github.com/pigeon-sched/pigeon/internal/queue"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// worker returns the live worker of that id, nil when there is none.
func (s *Master) worker(id int32) *worker {
	if id < 0 || int(id) >= len(s.workers) {
		return nil
	}
	return s.workers[id]
}

// firstOf returns the first of the workers that run the job, in order of launch.
func (s *Master) firstOf(j *queue.Job) *worker {
	if j.Running == 0 {
		return nil
	}
	return s.workers[j.RunningFirst]
}

// occupy notes that the worker runs the task.
func (s *Master) occupy(w *worker, x work) {
	j := x.job
	w.work = x
	w.prev, w.next = nil, nil
	if j.Running == 0 {
		j.RunningFirst = w.addr.ID
	} else {
		last := s.workers[j.RunningLast]
		last.next, w.prev = w, last
	}
	j.RunningLast = w.addr.ID
	j.Running++
}

// unlink notes that the worker does not run its task any more.
func (s *Master) unlink(w *worker) {
	j := w.job
	if j == nil {
		return
	}
	if w.prev != nil {
		w.prev.next = w.next
	} else if w.next != nil {
		j.RunningFirst = w.next.addr.ID
	}
	if w.next != nil {
		w.next.prev = w.prev
	} else if w.prev != nil {
		j.RunningLast = w.prev.addr.ID
	}
	j.Running--
	w.work, w.prev, w.next = work{}, nil, nil
	s.hooks.released(w, j)
}

// vacate is unlink, and forgets the job when that was the last of it.
func (s *Master) vacate(w *worker, out *sched.Actions) {
	if j := w.job; j != nil {
		if s.unlink(w); j.Queued+j.Running == 0 {
			s.forget(j.ID, out)
		}
	}
}
