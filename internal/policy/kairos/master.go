package kairos

import (
	"github.com/pigeon-sched/pigeon/internal/policy/ended"
	"github.com/pigeon-sched/pigeon/internal/policy/recovery"
	"github.com/pigeon-sched/pigeon/internal/queue"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Master is the central scheduler: one FIFO queue over all nodes, blind to
// classes and estimates.
//
// Invariant: while a task waits, every ranked node holds N + Q tasks.
type Master struct {
	cfg      sched.MasterConfig
	o        Options
	index    *queue.Index
	service  *queue.Service // what every node serves, nil without nodes
	jobs     map[sched.JobID]*job
	nodes    []*node  // by id; nil when lost
	launched []uint64 // by id: number of the last launch there, also to one that was lost
	alive    int
	ranking  ranking // nodes that may get tasks
	round    []*node // scratch of place
	epoch    uint64
	recovery recovery.Recovery
	lately   ended.Index

	launches, lost, refusals uint64 // so far, for status and metrics
}

// job is a job whose tasks wait or are at nodes.
type job struct {
	queue.Job
	placed map[int32]*placed // latest attempt at a node, by task
}

// placed is an attempt at a node.
type placed struct {
	job           *job
	task, attempt int32
	number        uint64     // of its launch
	service       sched.Time // attained, as last reported
	since         sched.Time // its start if it had run without pauses, by the same report; Unknown while none says that it began
}

func (p *placed) id() sched.AttemptID {
	return sched.AttemptID{Job: p.job.ID, Task: p.task, Attempt: p.attempt}
}

// NewMaster returns a master without nodes.
func NewMaster(cfg sched.MasterConfig, o Options) *Master {
	return &Master{
		cfg: cfg, o: o.resolved(cfg.Params), index: queue.NewIndex(), jobs: make(map[sched.JobID]*job),
		recovery: recovery.New(cfg.Recover),
	}
}

// Queued returns how many tasks wait for a node.
func (s *Master) Queued() int { return s.index.Queued(sched.Short) }

// Step implements [sched.Core].
func (s *Master) Step(now sched.Time, from sched.Addr, m *sched.Message, out *sched.Actions) {
	s.recovery.Begin(now, out)
	if !m.Valid() {
		return
	}
	switch m.Kind {
	case sched.Tasks:
		s.tasks(now, m, out)
	case sched.Idle:
		s.idle(now, s.node(from), m, out)
	case sched.Beat:
		s.beat(now, s.node(from), m, out)
	case sched.Refused:
		s.refused(now, s.node(from), m, out)
	case sched.Drop:
		s.drop(m, out)
	case sched.WorkerUp:
		s.workerUp(now, m, out)
	case sched.WorkerLost:
		s.workerLost(m, out)
	case sched.WorkerServes:
		s.drains(s.node(m.Peer), m.Full)
	case sched.EpochIs:
		s.epoch = max(s.epoch, m.Epoch)
	case sched.DistributorUp:
		s.distributorUp(m.Distributor, out)
	case sched.DistributorAway:
		s.distributorAway(m.Distributor, out)
	case sched.ResultsKept:
		if n := s.node(m.Peer); n != nil {
			n.ended.Keep(now, m.Kept)
		}
	case sched.Timeout:
		for _, waited := range s.recovery.End() {
			s.sentAgain(now, &waited, out)
		}
	default:
		return
	}
	s.place(out)
}

// tasks accepts tasks, or returns them when there is no room or no node, or when
// they need an application's backend, which cannot be suspended.
func (s *Master) tasks(now sched.Time, m *sched.Message, out *sched.Actions) {
	full := s.cfg.MaxTasks > 0 && s.Queued()+s.recovery.Tasks()+int(m.Count) > s.cfg.MaxTasks
	switch {
	case m.Attempt < 1 || m.Count < 1:
	case m.Resent && s.recovery.Over():
		s.sentAgain(now, m, out)
	case m.Resent && !full:
		s.recovery.Add(m)
	case full || s.service == nil || m.App != "":
		out.SendReturned(m.Distributor, m.Job, m.First, m.Count, m.Attempt, full).Resent = m.Resent
		s.forget(s.jobs[m.Job], m.Job, out)
	default:
		s.enqueue(now, m, out)
	}
}

// enqueue queues tasks, except those already held here with this attempt or a
// later one: their message is a repetition. An earlier attempt that waits is replaced.
func (s *Master) enqueue(now sched.Time, m *sched.Message, out *sched.Actions) {
	j := s.jobs[m.Job]
	if j == nil {
		j = s.enter(m)
	}
	end := m.First + m.Count
	for i := m.First; i < end; {
		first := i
		for i < end && !j.holds(i, m.Attempt) {
			i++
		}
		if i == first {
			i++
			continue
		}
		s.index.Remove(&j.Job, first, i-first)
		if m.Head {
			s.index.PushHead(now, &j.Job, first, i-first, m.Attempt)
		} else {
			s.index.PushTail(now, &j.Job, first, i-first, m.Attempt)
		}
	}
	s.forget(j, m.Job, out)
}

// enter adds the job of a message. To the queue every job is short.
func (s *Master) enter(m *sched.Message) *job {
	j := &job{Job: queue.Job{ID: m.Job, DistributorID: m.Distributor.ID, Estimate: m.Estimate}}
	s.index.Enter(&j.Job, "", "", 0) // owners are not distinguished
	s.jobs[m.Job] = j
	return j
}

// holds reports whether the task waits or is at a node with this attempt or a later
// one.
func (j *job) holds(task, attempt int32) bool {
	p := j.placed[task]
	return (p != nil && p.attempt >= attempt) || j.Waiting(task) >= attempt
}

// place sends waiting tasks to nodes with room, in rounds: one task to each node,
// in the order that holds at the beginning of the round.
func (s *Master) place(out *sched.Actions) {
	for s.Queued() > 0 && s.hasRoom() {
		s.round = s.round[:0]
		for s.Queued() > 0 && s.hasRoom() {
			n := s.ranking[0]
			s.ranking.remove(n)
			s.round = append(s.round, n)
			s.launch(n, out)
		}
		for _, n := range s.round {
			s.ranking.push(n)
		}
	}
}

// hasRoom reports whether the first node in the order can take a task.
func (s *Master) hasRoom() bool {
	return len(s.ranking) > 0 && len(s.ranking[0].tasks) < s.o.room()
}

func (s *Master) launch(n *node, out *sched.Actions) {
	r := s.index.First(s.service, sched.Short)
	j, attempt := s.jobs[r.Job.ID], r.Attempt
	task := s.index.Take(r)
	n.launched = s.nextNumber(n)
	s.launched[n.addr.ID] = n.launched
	s.launches++
	s.attach(n, &placed{job: j, task: task, attempt: attempt, number: n.launched, since: sched.Unknown})
	m := out.Send(n.addr, sched.Launch)
	m.Job, m.First, m.Attempt, m.Distributor = j.ID, task, attempt, j.Distributor()
	m.Estimate, m.Seq, m.Epoch = j.Estimate, n.launched, s.epoch
}

// drop forgets waiting tasks and kills those at nodes.
func (s *Master) drop(m *sched.Message, out *sched.Actions) {
	first, count := m.First, m.Count
	if count == 0 {
		first, count = 0, sched.MaxTasks
	}
	s.recovery.Cut(m.Job, first, count)
	j := s.jobs[m.Job]
	if j != nil {
		s.index.Remove(&j.Job, first, count)
		s.kill(j, first, count, out)
	}
	s.forget(j, m.Job, out)
}

// kill stops tasks of a job where they are. It looks at all nodes: few jobs are
// cancelled.
func (s *Master) kill(j *job, first, count int32, out *sched.Actions) {
	for _, n := range s.nodes {
		if n == nil {
			continue
		}
		for _, p := range n.tasks {
			if p.job == j && p.task >= first && p.task-first < count {
				k := out.Send(n.addr, sched.Kill)
				k.Job, k.First, k.Attempt, k.Epoch = j.ID, p.task, p.attempt, s.epoch
			}
		}
	}
}

// forget drops a job none of whose tasks waits or is at a node any more.
func (s *Master) forget(j *job, id sched.JobID, out *sched.Actions) {
	if j != nil {
		if j.Queued > 0 || j.Running > 0 {
			return
		}
		delete(s.jobs, id)
		s.index.Exit(&j.Job)
	}
	if !s.recovery.Has(id) {
		out.Do(sched.Forget).Job = id
	}
}
