package pigeon

import (
	"github.com/pigeon-sched/pigeon/internal/queue"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// What a master's shell may read between steps, for metrics, status and explain.

// Queued gives how many tasks wait for a worker, of both classes.
func (s *Master) Queued() int {
	return s.index.Queued(sched.Short) + s.index.Queued(sched.Long)
}

// Index gives the queues and idle lists.
func (s *Master) Index() *queue.Index { return s.index }

// Counts gives the totals so far.
func (s *Master) Counts() Counts { return s.counts }

// Epoch gives the epoch the master works under.
func (s *Master) Epoch() uint64 { return s.epoch }

// Job gives how many tasks of the job wait, and run or are suspended here.
func (s *Master) Job(id sched.JobID) (queued, running int) {
	s.recovery.each(func(m sched.Message) {
		if m.Job == id {
			queued += int(m.Count)
		}
	})
	if j := s.jobs[id]; j != nil {
		queued += int(j.Queued)
		running = int(j.Running)
		if s.sorted != nil {
			running += int(s.sorted.facts[j].held)
		}
	}
	return queued, running
}

// NodeView is a node as the master knows it.
type NodeView struct {
	ID                    string
	Slots, Reserved, Busy int
	Apps                  []string // of the first slot
}

// Nodes lists the nodes by id.
func (s *Master) Nodes() []NodeView {
	views := make([]NodeView, 0, len(s.nodes))
	for _, n := range s.nodes {
		v := NodeView{ID: n.id, Slots: len(n.slots)}
		for _, w := range n.slots {
			if w.reserved {
				v.Reserved++
			}
			if !w.Listed() {
				v.Busy++
			}
			v.Apps = w.service.Names
		}
		views = append(views, v)
	}
	return views
}

// Workers gives how many slots of the kind there are, idle or busy.
func (s *Master) Workers(k queue.Kind) int {
	n := 0
	for _, node := range s.nodes {
		for _, w := range node.slots {
			if w.kind() == k {
				n++
			}
		}
	}
	return n
}

// RunningTask is an attempt at a worker.
type RunningTask struct {
	Task, Attempt int32
	Worker        sched.Addr
}

// Running lists what runs of the job, in order of launch.
func (s *Master) Running(id sched.JobID) []RunningTask {
	j := s.jobs[id]
	if j == nil {
		return nil
	}
	var list []RunningTask
	for w := s.firstOf(j); w != nil; w = w.next {
		list = append(list, RunningTask{w.task, w.attempt, w.addr})
	}
	return list
}
