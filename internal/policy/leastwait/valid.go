package leastwait

import (
	"fmt"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Valid checks the master's invariants between steps; it looks at every task.
func (s *Master) Valid() error {
	alive, tasks := 0, 0
	jobs := make(map[sched.JobID]int)
	for id, w := range s.workers {
		if w == nil {
			continue
		}
		if !w.leaving {
			alive++
		}
		held := w.assigned
		if w.running != nil {
			held = append([]*task{w.running}, held...)
		}
		var waiting sched.Time
		for _, t := range held {
			if t.at != w || s.tasks[t.msg.AttemptID()] != t {
				return fmt.Errorf("worker %d: task %s is entered elsewhere", id, t.msg.AttemptID())
			}
			if t != w.running {
				waiting += t.msg.Estimate
			}
			jobs[t.msg.Job]++
		}
		tasks += len(held)
		if waiting != w.waiting {
			return fmt.Errorf("worker %d: work of %d ns waits, counted as %d", id, waiting, w.waiting)
		}
		if s.share && s.view.has(w.addr.ID) != (len(held) > 0) {
			return fmt.Errorf("worker %d holds %d tasks, and its bit in the view does not match", id, len(held))
		}
	}
	for id, n := range s.jobs {
		if jobs[id] != n {
			return fmt.Errorf("job %s has %d tasks here, counted as %d", id, jobs[id], n)
		}
	}
	if alive != s.alive || tasks != len(s.tasks) {
		return fmt.Errorf("%d workers with %d tasks, counted as %d and %d", alive, tasks, s.alive, len(s.tasks))
	}
	return nil
}
