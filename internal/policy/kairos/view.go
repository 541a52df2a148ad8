package kairos

import (
	"github.com/pigeon-sched/pigeon/internal/policy/groupview"
	"github.com/pigeon-sched/pigeon/internal/queue"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// What a master's shell may show between steps. To Kairos every job is short, and a
// worker is a node of several slots.

// Totals returns the figures of the cluster; a worker is idle when nothing is there.
func (s *Master) Totals() groupview.Totals {
	t := groupview.Totals{Launches: s.launches, Lost: s.lost, Refused: s.refusals}
	t.Queued[sched.Short] = s.Queued()
	for c := range t.Oldest {
		t.Oldest[c] = groupview.Unknown
	}
	if since, waits := s.index.Oldest(sched.Short); waits {
		t.Oldest[sched.Short] = since
	}
	t.Workers[queue.General] = s.alive
	for _, n := range s.nodes {
		if n != nil && len(n.tasks) == 0 {
			t.Idle[queue.General]++
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

// Serving returns how many nodes serve the application.
func (s *Master) Serving(app string) int {
	if app == "" {
		return s.alive
	}
	return 0
}

// Shown returns what is known of a node.
func (s *Master) Shown(a sched.Addr) (v groupview.Worker) {
	if n := s.node(a); n != nil {
		v.Tasks = len(n.tasks)
	}
	return v
}

// Share returns what there is of a job, with at most so many of the tasks at nodes.
func (s *Master) Share(id sched.JobID, most int) (v groupview.Job) {
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
				v.Tasks = append(v.Tasks, groupview.Task{Task: p.task, Attempt: p.attempt, Worker: n.addr})
			}
		}
	}
	return v
}
