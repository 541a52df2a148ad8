package leastwait

import (
	"slices"

	"github.com/pigeon-sched/pigeon/internal/policy/ended"
	"github.com/pigeon-sched/pigeon/internal/policy/recovery"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Master is the central scheduler.
type Master struct {
	cfg     sched.MasterConfig
	share   bool      // send the bitmap of workers with long work
	workers []*worker // by id; nil when lost
	alive   int
	divided bool // each worker's partition is that of the workers alive
	ranking ranking
	tasks   map[sched.AttemptID]*task
	jobs    map[sched.JobID]int // tasks here
	serves  []string            // as announced
	view    bitmap              // of the workers with long work

	recovery recovery.Recovery
	lately   ended.Index

	launches, lost uint64 // so far, for status and metrics
}

// worker is the master's record of a slot.
type worker struct {
	addr     sched.Addr
	node     string
	general  bool
	leaving  bool       // it takes nothing new, and is not counted any more
	assigned []*task    // not started, in the order in which they were assigned
	waiting  sched.Time // sum of their estimates
	running  *task
	done     sched.Time // when the running task ends by its estimate
	ended    ended.List
	in       *heap // nil for none
	key      sched.Time
	place    int
}

// task is an attempt that was assigned and has not ended.
type task struct {
	msg  sched.Message // as received, cut to this one task
	left int32         // number of tasks of its message not assigned before it
	at   *worker
}

// New returns a master without workers. With share set, each launch carries a bitmap
// of the workers that had long work before its job was placed.
func New(cfg sched.MasterConfig, share bool) *Master {
	return &Master{
		cfg: cfg, share: share, tasks: make(map[sched.AttemptID]*task), jobs: make(map[sched.JobID]int), recovery: recovery.New(cfg.Recover),
	}
}

// Step implements [sched.Core]. DistributorAway is ignored: no task waits here for its
// distributor, since each is assigned to a worker at once, and there is no other master to
// which a distributor could give one that this master still holds.
func (s *Master) Step(now sched.Time, from sched.Addr, m *sched.Message, out *sched.Actions) {
	s.recovery.Begin(now, out)
	if !m.Valid() {
		return
	}
	switch m.Kind {
	case sched.Tasks:
		s.tasksReceived(now, m, out)
	case sched.Started:
		s.started(now, from, m)
	case sched.Idle:
		s.ended(now, from, m, out)
	case sched.Refused:
		s.refused(now, from, m, out)
	case sched.Drop:
		s.drop(now, m, out)
	case sched.WorkerUp:
		s.workerUp(now, m, out)
	case sched.WorkerLost:
		s.workerLost(m, out)
	case sched.WorkerServes:
		s.workerDrains(now, m, out)
	case sched.DistributorUp:
		s.distributorUp(m.Distributor, out)
	case sched.ResultsKept:
		if w := s.worker(m.Peer.ID); w != nil && m.Peer.Role == sched.Worker {
			w.ended.Keep(now, m.Kept)
		}
	case sched.Timeout:
		for _, waited := range s.recovery.End() {
			s.sentAgain(now, &waited, out)
		}
	}
}

// tasksReceived accepts tasks, or returns them when there is no room.
func (s *Master) tasksReceived(now sched.Time, m *sched.Message, out *sched.Actions) {
	switch full := s.cfg.MaxTasks > 0 && len(s.tasks)+s.recovery.Tasks()+int(m.Count) > s.cfg.MaxTasks; {
	case m.Attempt < 1 || m.Count < 1:
	case m.Resent && s.recovery.Over():
		s.sentAgain(now, m, out)
	case full:
		out.SendReturned(m.Distributor, m.Job, m.First, m.Count, m.Attempt, true).Resent = m.Resent
		s.forgetJob(m.Job, out)
	case m.Resent:
		s.recovery.Add(m)
	default:
		s.accept(now, m, out)
	}
}

// accept places the tasks of a message one by one.
func (s *Master) accept(now sched.Time, m *sched.Message, out *sched.Actions) {
	more := s.snapshot(now)
	for i := range m.Count {
		t := &task{msg: *m, left: m.Count - i}
		t.msg.First, t.msg.Count = m.First+i, 1
		t.msg.Estimate = s.cfg.Params.EstimateOf(m.Estimate)
		if id := t.msg.AttemptID(); s.tasks[id] == nil { // else the message is a repetition
			s.tasks[id] = t
			s.jobs[id.Job]++
			s.place(now, t, more, out)
		}
	}
}

// place assigns a task to the worker with the least waiting time; without a worker
// the task is returned.
func (s *Master) place(now sched.Time, t *task, more *sched.More, out *sched.Actions) {
	w := s.least(now)
	if t.at = w; w == nil {
		out.SendReturned(t.msg.Distributor, t.msg.Job, t.msg.First, 1, t.msg.Attempt, false)
		s.forget(t, out)
		return
	}
	w.assigned = append(w.assigned, t)
	w.waiting += t.msg.Estimate
	s.ranking.update(now, w)
	s.mark(w)
	s.launches++
	l := out.Send(w.addr, sched.Launch)
	m := &t.msg
	l.Job, l.First, l.Attempt, l.Class, l.App = m.Job, m.First, m.Attempt, m.Class, m.App
	l.Distributor, l.Estimate, l.Arrival, l.Count, l.More = m.Distributor, m.Estimate, m.Arrival, t.left, more
}

// least returns the general worker with the least waiting time, nil without one.
func (s *Master) least(now sched.Time) *worker {
	s.sendPartitions(now)
	return s.ranking.least(now)
}

// started moves a task from assigned to running.
func (s *Master) started(now sched.Time, from sched.Addr, m *sched.Message) {
	t := s.tasks[m.AttemptID()]
	if t == nil || t.at.addr != from || t.at.running == t {
		return
	}
	w := t.at
	s.unassign(w, t)
	if before := w.running; before != nil { // it has ended, and the notice of that is late or lost
		w.assigned = append(w.assigned, before)
		w.waiting += before.msg.Estimate
	}
	w.running, w.done = t, now+t.msg.Estimate
	s.ranking.update(now, w)
	s.mark(w)
}

func (s *Master) unassign(w *worker, t *task) {
	if i := slices.Index(w.assigned, t); i >= 0 {
		w.assigned = slices.Delete(w.assigned, i, i+1)
		w.waiting -= t.msg.Estimate
	}
}

// ended records the end of a task at its worker.
func (s *Master) ended(now sched.Time, from sched.Addr, m *sched.Message, out *sched.Actions) {
	if t := s.tasks[m.AttemptID()]; t != nil && t.at.addr == from {
		w := t.at
		w.ended.Add(now, t.msg.AttemptID(), t.msg.Distributor, 0)
		s.remove(now, t, out)
	}
}

// refused places a task elsewhere that a worker returns because it takes nothing new.
func (s *Master) refused(now sched.Time, from sched.Addr, m *sched.Message, out *sched.Actions) {
	t := s.tasks[m.AttemptID()]
	if t == nil || t.at.addr != from || t.at.running == t {
		return
	}
	w := t.at
	s.unassign(w, t)
	s.mark(w)
	s.workerDrains(now, &sched.Message{Peer: from, Full: true}, out)
	s.place(now, t, s.snapshot(now), out)
}

// remove removes a task from its worker and from the master.
func (s *Master) remove(now sched.Time, t *task, out *sched.Actions) {
	w := t.at
	s.unassign(w, t)
	if w.running == t {
		w.running = nil
	}
	s.ranking.update(now, w)
	s.mark(w)
	s.forget(t, out)
}

// forget drops a task that is at no worker, and with its last task the job.
func (s *Master) forget(t *task, out *sched.Actions) {
	id := t.msg.AttemptID()
	delete(s.tasks, id)
	s.jobs[id.Job]--
	s.forgetJob(id.Job, out)
}

// forgetJob drops a job without tasks here.
func (s *Master) forgetJob(id sched.JobID, out *sched.Actions) {
	if s.jobs[id] > 0 {
		return
	}
	delete(s.jobs, id)
	if !s.recovery.Has(id) {
		out.Do(sched.Forget).Job = id
	}
}

// drop kills tasks that are no longer wanted. A running one is removed when its
// worker reports its end.
func (s *Master) drop(now sched.Time, m *sched.Message, out *sched.Actions) {
	first, end := m.First, m.First+m.Count
	if m.Count == 0 {
		first, end = 0, sched.MaxTasks
	}
	if s.recovery.Has(m.Job) {
		s.recovery.Cut(m.Job, first, end-first)
		s.forgetJob(m.Job, out)
	}
	if s.jobs[m.Job] == 0 {
		return
	}
	unwanted := func(t *task) bool { return t.msg.Job == m.Job && t.msg.First >= first && t.msg.First < end }
	for _, w := range s.workers {
		if w == nil {
			continue
		}
		if w.running != nil && unwanted(w.running) {
			kill(w.running, out)
		}
		for _, t := range slices.Clone(w.assigned) {
			if unwanted(t) {
				kill(t, out)
				s.remove(now, t, out)
			}
		}
	}
}

func kill(t *task, out *sched.Actions) {
	k := out.Send(t.at.addr, sched.Kill)
	k.Job, k.First, k.Attempt = t.msg.Job, t.msg.First, t.msg.Attempt
}
