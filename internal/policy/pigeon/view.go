package pigeon

import (
	"iter"

	"github.com/pigeon-sched/pigeon/internal/policy/recovery"
	"github.com/pigeon-sched/pigeon/internal/queue"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// What a master's shell may read between steps, for metrics, status and explain.

// Queued returns how many tasks wait for a worker, of both classes.
func (s *Master) Queued() int {
	return s.index.Queued(sched.Short) + s.index.Queued(sched.Long)
}

// Job returns how many tasks of the job wait, and run or are suspended here.
func (s *Master) Job(id sched.JobID) (queued, running int) {
	j := s.jobs[id]
	s.recovery.each(func(m sched.Message) {
		if m.Job == id {
			queued += s.unreported(j, &m)
		}
	})
	if j != nil {
		queued += int(j.Queued) + s.wide.claimed(j)
		running = int(j.Running + s.hooks.suspended(j))
	}
	return queued, running
}

// unreported returns how many tasks of a message that waits for the reports of nodes
// none has reported yet. j is their job, nil when nothing of it is here.
func (s *Master) unreported(j *queue.Job, m *sched.Message) (count int) {
	known := recovery.NewKnown(m)
	if j != nil {
		s.eachHeld(j, known.KnowAll)
	}
	for l := range s.endedLists() {
		l.All(func(id sched.AttemptID) {
			if id.Job == m.Job {
				known.Know(id.Task, id.Attempt)
			}
		})
	}
	known.EachEarlier(m.Attempt, func(_, n int32) { count += int(n) })
	return count
}

// Totals returns the figures of the group.
func (s *Master) Totals() sched.GroupTotals {
	t := sched.GroupTotals{Launches: s.counts.Launches, Lost: s.counts.Lost, Refused: s.counts.Refused}
	for c := range t.Queued {
		t.Queued[c], t.Oldest[c] = s.index.Queued(sched.Class(c)), sched.Unknown
		if since, waits := s.index.Oldest(sched.Class(c)); waits {
			t.Oldest[c] = since
		}
	}
	for _, w := range s.workers {
		if w != nil {
			t.Workers[w.kind()]++
		}
	}
	if s.wide != nil {
		t.Kept = len(s.wide.kept)
		for _, c := range s.wide.claims {
			if c.node != nil {
				t.Queued[c.class]++
				t.Wide++
			}
		}
		for c := range t.Queued {
			tasks, _ := s.index.QueuedWide(sched.Class(c))
			t.Wide += tasks
		}
	}
	for k := range t.Idle {
		kind := sched.WorkerKind(k)
		t.Idle[k], t.Busy[k] = s.index.Idle(kind)-s.index.Unused(kind), t.Workers[k]-s.index.Idle(kind)
	}
	return t
}

// Serves returns the applications that a live worker serves, sorted.
func (s *Master) Serves() []string { return s.index.Served() }

// Serving returns how many workers serve the application, and how many of them are idle.
func (s *Master) Serving(app string) (workers int, idle [sched.NumWorkerKinds]int) {
	if a := s.index.Find(app); a != nil {
		workers = a.Workers
	}
	for k := range idle {
		idle[k] = s.index.IdleOf(app, sched.WorkerKind(k))
	}
	return workers, idle
}

// Contended reports whether tasks of other applications or owners wait that are as urgent
// as one of this application, owner and class.
func (s *Master) Contended(app, owner string, c sched.Class) bool {
	return s.index.OthersWait(app, owner, c)
}

// WorkerView returns the state of a worker; one that is not idle has a task, or is about
// to report that it has none.
func (s *Master) WorkerView(a sched.Addr) (v sched.WorkerView) {
	w := s.workers.get(a.ID)
	if w == nil {
		return v
	}
	v.Reserved = w.reserved
	if !w.Listed() {
		v.Tasks++
	}
	v.Tasks += len(w.held)
	if w.job != nil {
		v.Running, v.Class = true, w.job.Class
	}
	return v
}

// Running yields the job of every task that runs or is suspended here, and its distributor.
func (s *Master) Running() iter.Seq2[sched.JobID, sched.Addr] {
	return func(yield func(sched.JobID, sched.Addr) bool) {
		for _, w := range s.workers {
			if w == nil {
				continue
			}
			if j := w.job; j != nil && !yield(j.ID, j.Distributor()) {
				return
			}
			for _, h := range w.held {
				if !yield(h.job.ID, h.job.Distributor()) {
					return
				}
			}
		}
	}
}

// Share returns the group's share of a job, with at most that many of the running tasks, in order
// of launch, and of those that are suspended.
func (s *Master) Share(id sched.JobID, most int) (v sched.JobShare) {
	v.Queued, v.Running = s.Job(id)
	j := s.jobs[id]
	if j == nil {
		return v
	}
	for w := s.workers.running(j); w != nil && len(v.Tasks) < most; w = w.next {
		v.Tasks = append(v.Tasks, sched.TaskView{Task: w.task, Attempt: w.attempt, Worker: w.addr, Since: w.bill.begun()})
	}
	if s.hooks.suspended(j) == 0 {
		return v
	}
	for _, w := range s.workers {
		if w == nil {
			continue
		}
		for _, h := range w.held {
			if h.job == j && len(v.Tasks) < most {
				t := sched.TaskView{Task: h.task, Attempt: h.attempt, Worker: w.addr, Suspended: true, Since: sched.Unknown, SuspendedAt: h.at}
				if w.job != nil {
					t.For = w.job.ID
				}
				v.Tasks = append(v.Tasks, t)
			}
		}
	}
	return v
}
