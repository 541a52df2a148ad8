package kairos

import (
	"iter"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// What a master's shell may show between steps. To Kairos every job is short, and a
// worker is a node of several slots.

// Totals returns the figures of the cluster; a worker is idle when nothing is there.
func (s *Master) Totals() sched.GroupTotals {
	t := sched.GroupTotals{Launches: s.launches, Lost: s.lost, Refused: s.refusals}
	t.Queued[sched.Short] = s.Queued()
	for c := range t.Oldest {
		t.Oldest[c] = sched.Unknown
	}
	if since, waits := s.index.Oldest(sched.Short); waits {
		t.Oldest[sched.Short] = since
	}
	t.Workers[sched.General] = s.alive
	for _, n := range s.nodes {
		switch {
		case n == nil:
		case len(n.tasks) > 0:
			t.Busy[sched.General]++
		case !n.leaving:
			t.Idle[sched.General]++
		}
	}
	return t
}

// Serves returns the applications served: the built-in backends, with a node alive.
func (s *Master) Serves() []string {
	if s.service == nil {
		return []string{}
	}
	return s.service.Names
}

// Serving returns how many nodes serve the application, and how many of them are idle.
func (s *Master) Serving(app string) (nodes int, idle [sched.NumWorkerKinds]int) {
	if app == "" {
		return s.alive, s.Totals().Idle
	}
	return 0, idle
}

// WorkerView returns what this master knows of a node.
func (s *Master) WorkerView(a sched.Addr) (v sched.WorkerView) {
	if n := s.node(a); n != nil {
		v.Tasks = len(n.tasks)
	}
	return v
}

// Share returns what there is of a job, with at most that many of the tasks at nodes.
func (s *Master) Share(id sched.JobID, most int) (v sched.JobShare) {
	v.Queued = s.recovery.Of(id)
	j := s.jobs[id]
	if j == nil {
		return v
	}
	v.Queued += int(j.Queued)
	v.Running = int(j.Running)
	for _, n := range s.nodes {
		if n == nil {
			continue
		}
		for _, p := range n.tasks {
			if p.job == j && len(v.Tasks) < most {
				v.Tasks = append(v.Tasks, sched.TaskView{Task: p.task, Attempt: p.attempt, Worker: n.addr, Since: p.since})
			}
		}
	}
	return v
}

// Running yields the job of every task at a node, and its distributor.
func (s *Master) Running() iter.Seq2[sched.JobID, sched.Addr] {
	return func(yield func(sched.JobID, sched.Addr) bool) {
		for _, n := range s.nodes {
			if n == nil {
				continue
			}
			for _, p := range n.tasks {
				if !yield(p.job.ID, p.job.Distributor()) {
					return
				}
			}
		}
	}
}

// Contended implements [sched.GroupView]: there is one application.
func (s *Master) Contended(_, _ string, _ sched.Class) bool { return false }

// Owners implements [sched.GroupView]: workers are not shared by owner.
func (s *Master) Owners() []sched.OwnerView { return nil }
