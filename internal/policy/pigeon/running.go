package pigeon

import (
	"github.com/pigeon-sched/pigeon/internal/queue"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// workers are the live workers of a group by id, nil where one was lost. Those that run
// tasks of one job form a list, in order of launch.
type workers []*worker

// get returns the worker of that id, nil when there is none.
func (l workers) get(id int32) *worker {
	if id < 0 || int(id) >= len(l) {
		return nil
	}
	return l[id]
}

// add adds a worker under its id.
func (l *workers) add(w *worker) {
	if grow := int(w.addr.ID) + 1 - len(*l); grow > 0 {
		*l = append(*l, make([]*worker, grow)...)
	}
	(*l)[w.addr.ID] = w
}

// running returns the first of the workers that run the job.
func (l workers) running(j *queue.Job) *worker {
	if j.Running == 0 {
		return nil
	}
	return l[j.RunningFirst]
}

// occupy records that the worker runs the task.
func (l workers) occupy(w *worker, x work) {
	j := x.job
	w.work = x
	w.prev, w.next = nil, nil
	if j.Running == 0 {
		j.RunningFirst = w.addr.ID
	} else {
		last := l[j.RunningLast]
		last.next, w.prev = w, last
	}
	j.RunningLast = w.addr.ID
	j.Running++
}

// release records that the worker no longer runs its task.
func (w *worker) release() {
	j := w.job
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
}

// unlink records that the worker no longer runs its task, if it has one.
func (s *Master) unlink(w *worker) {
	if j := w.job; j != nil {
		s.closeBill(&w.bill, false)
		w.release()
		s.hooks.released(w, j)
	}
}

// vacate is unlink, and forgets the job if that was its last task here.
func (s *Master) vacate(w *worker, out *sched.Actions) {
	if j := w.job; j != nil {
		if s.unlink(w); j.Queued+j.Running == 0 {
			s.forget(j.ID, out)
		}
	}
}
