package leastwait

import (
	"iter"

	"github.com/pigeon-sched/pigeon/internal/policy/ended"
	"github.com/pigeon-sched/pigeon/internal/policy/recovery"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// sentAgain processes tasks that an earlier master may have launched: those that are
// neither at a worker nor ended there lately are returned.
func (s *Master) sentAgain(now sched.Time, m *sched.Message, out *sched.Actions) {
	known := recovery.NewKnown(m)
	if s.jobs[m.Job] > 0 {
		s.eachTask(func(t *task) {
			if t.msg.Job == m.Job {
				known.Know(t.msg.First, t.msg.Attempt)
			}
		})
	}
	for _, id := range s.lately.Of(now, m.Job, s.endedLists()) {
		known.Know(id.Task, id.Attempt)
	}
	recovery.Return(m, &known, out)
	s.forgetJob(m.Job, out)
}

// eachTask calls f for every task at a worker.
func (s *Master) eachTask(f func(*task)) {
	for _, w := range s.workers {
		if w == nil {
			continue
		}
		if w.running != nil {
			f(w.running)
		}
		for _, t := range w.assigned {
			f(t)
		}
	}
}

func (s *Master) endedLists() iter.Seq[*ended.List] {
	return ended.Lists(s.workers, func(w *worker) *ended.List { return &w.ended })
}

// distributorUp answers a restarted distributor with the tasks that this master holds for it.
func (s *Master) distributorUp(distributor sched.Addr, out *sched.Actions) {
	if distributor.Role != sched.Distributor {
		return
	}
	jobs := map[sched.JobID]*recovery.Holdings{}
	s.eachTask(func(t *task) {
		if t.msg.Distributor != distributor {
			return
		}
		if jobs[t.msg.Job] == nil {
			jobs[t.msg.Job] = &recovery.Holdings{}
		}
		jobs[t.msg.Job].Add(t.msg.First, 1, t.msg.Attempt)
	})
	for _, id := range recovery.Sorted(jobs, func(*recovery.Holdings) bool { return true }) {
		jobs[id].Send(distributor, id, out)
	}
	recovery.Answered(distributor, out)
}
