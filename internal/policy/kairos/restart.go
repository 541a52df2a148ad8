package kairos

import (
	"iter"

	"github.com/pigeon-sched/pigeon/internal/policy/ended"
	"github.com/pigeon-sched/pigeon/internal/policy/recovery"
	"github.com/pigeon-sched/pigeon/internal/queue"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// sentAgain processes tasks that an earlier master may have launched: those that neither
// wait, nor are at a node, nor ended there lately are returned.
func (s *Master) sentAgain(now sched.Time, m *sched.Message, out *sched.Actions) {
	known := recovery.NewKnown(m)
	j := s.jobs[m.Job]
	if j != nil {
		s.eachHeld(j, known.KnowAll)
	}
	for _, id := range s.lately.Of(now, m.Job, s.endedLists()) {
		known.Know(id.Task, id.Attempt)
	}
	recovery.Return(m, &known, out)
	s.forget(j, m.Job, out)
}

// eachHeld calls f for the tasks of the job that wait or are at nodes.
func (s *Master) eachHeld(j *job, f func(first, count, attempt int32)) {
	j.EachRun(func(r *queue.Run) { f(r.First, r.Count, r.Attempt) })
	if j.Running == 0 {
		return
	}
	for _, n := range s.nodes {
		if n == nil {
			continue
		}
		for _, p := range n.tasks {
			if p.job == j {
				f(p.task, 1, p.attempt)
			}
		}
	}
}

func (s *Master) endedLists() iter.Seq[*ended.List] {
	return ended.Lists(s.nodes, func(n *node) *ended.List { return &n.ended })
}

// distributorUp answers a restarted distributor with the tasks that this master holds for it.
func (s *Master) distributorUp(distributor sched.Addr, out *sched.Actions) {
	if distributor.Role != sched.Distributor {
		return
	}
	var held recovery.Holdings
	for _, id := range recovery.Sorted(s.jobs, func(j *job) bool { return j.DistributorID == distributor.ID }) {
		s.eachHeld(s.jobs[id], held.Add)
		held.Send(distributor, id, out)
	}
	recovery.Answered(distributor, out)
}

// distributorAway returns the waiting tasks of a distributor that has been silent for long:
// others wait, and it would not take the results. Tasks at nodes continue.
func (s *Master) distributorAway(distributor sched.Addr, out *sched.Actions) {
	var waiting recovery.Holdings
	for _, id := range recovery.Sorted(s.jobs, func(j *job) bool {
		return distributor.Role == sched.Distributor && j.DistributorID == distributor.ID && j.Queued > 0
	}) {
		j := s.jobs[id]
		j.EachRun(func(r *queue.Run) { waiting.Add(r.First, r.Count, r.Attempt) })
		waiting.Return(distributor, id, out)
		s.index.Remove(&j.Job, 0, sched.MaxTasks)
		s.forget(j, id, out)
	}
}
