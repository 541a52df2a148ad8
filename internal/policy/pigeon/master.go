package pigeon

import (
	"github.com/pigeon-sched/pigeon/internal/queue"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// recoverWait is how long a master that has just started keeps tasks sent again
// waiting for its nodes to tell what runs (design.md, section 2, rule 5).
const recoverWait = sched.Second

// mayUse lists the kinds of workers that may take a task at its arrival, in the
// order in which they are tried (section 3.2).
var mayUse = [sched.NumClasses][]queue.Kind{
	sched.Short: {queue.General, queue.Reserved},
	sched.Long:  {queue.General},
}

// Master keeps one queue per class and the idle workers of one group.
//
// Invariant: while a task waits, no worker that may take it and serves its
// application is idle.
type Master struct {
	cfg      sched.MasterConfig
	index    *queue.Index
	jobs     map[sched.JobID]*queue.Job
	workers  []*worker // by id; nil when lost
	nodes    []*node   // by node id
	slots    int       // whose kind the master chooses
	reserved int       // of those
	passed   int       // short tasks that general workers took while long ones waited
	epoch    uint64
	waiting  []sched.Message // Tasks sent again, until the nodes have spoken
	started  bool            // the recovery wait has begun
	ready    bool            // the recovery wait is over
	counts   Counts
}

// Counts are running totals of a master's decisions.
type Counts struct {
	Launches, Lost, Refused uint64
}

// worker is what the master knows of a slot.
type worker struct {
	queue.Idler
	addr       sched.Addr
	node       *node
	service    *queue.Service
	reserved   bool
	fixed      bool
	seq        uint64
	job        *queue.Job // what it runs, nil when idle or unknown
	task       int32
	attempt    int32
	prev, next *worker // workers of the same job, in order of launch
}

func (w *worker) kind() queue.Kind {
	if w.reserved {
		return queue.Reserved
	}
	return queue.General
}

// NewMaster gives a master without workers.
func NewMaster(cfg sched.MasterConfig) *Master {
	return &Master{cfg: cfg, index: queue.NewIndex(), jobs: make(map[sched.JobID]*queue.Job), ready: !cfg.Recover}
}

// Step implements [sched.Core].
func (s *Master) Step(now sched.Time, from sched.Addr, m *sched.Message, out *sched.Actions) {
	if !s.started && !s.ready {
		s.started = true
		out.Timer(now+recoverWait, 0)
	}
	switch m.Kind {
	case sched.Tasks:
		s.tasks(now, m, out)
	case sched.Idle:
		s.idle(from, m, out)
	case sched.Refused:
		s.refused(now, from, m, out)
	case sched.Drop:
		s.drop(m, out)
	case sched.WorkerUp:
		s.workerUp(m, out)
	case sched.WorkerLost:
		s.workerLost(m, out)
	case sched.WorkerServes:
		s.workerServes(m, out)
	case sched.EpochIs:
		s.epoch = max(s.epoch, m.Epoch)
	case sched.Timeout:
		s.recovered(now, out)
	}
}

// tasks launches what finds an idle worker and queues the rest.
func (s *Master) tasks(now sched.Time, m *sched.Message, out *sched.Actions) {
	if m.Resent && !s.ready {
		s.waiting = append(s.waiting, *m)
		return
	}
	app := s.index.App(m.App)
	if app.Workers == 0 {
		s.giveBack(m.Owner, m.Job, m.First, m.Count, m.Attempt, false, out)
		s.forget(m.Job, out)
		return
	}
	if s.cfg.MaxTasks > 0 && s.Queued()+int(m.Count) > s.cfg.MaxTasks {
		s.giveBack(m.Owner, m.Job, m.First, m.Count, m.Attempt, true, out)
		s.forget(m.Job, out)
		return
	}
	j := s.jobs[m.Job]
	if j == nil {
		j = &queue.Job{ID: m.Job, Owner: m.Owner, App: app, Class: m.Class, Estimate: m.Estimate, Arrival: m.Arrival}
		s.jobs[m.Job] = j
		s.admit(now, j, m.First, m.Count, m, out)
		return
	}
	s.admitNew(now, j, m, out)
}

// admitNew admits the tasks of the message that the master does not hold: the
// message may have come twice, or repeat what an earlier master launched.
func (s *Master) admitNew(now sched.Time, j *queue.Job, m *sched.Message, out *sched.Actions) {
	end := m.First + m.Count
	for i := m.First; i < end; {
		first := i
		for i < end && !s.holds(j, i) {
			i++
		}
		if i > first {
			s.admit(now, j, first, i-first, m, out)
		} else {
			i++
		}
	}
}

func (s *Master) holds(j *queue.Job, task int32) bool {
	if j.Holds(task) {
		return true
	}
	for w := s.firstOf(j); w != nil; w = w.next {
		if w.task == task {
			return true
		}
	}
	return false
}

func (s *Master) admit(now sched.Time, j *queue.Job, first, count int32, m *sched.Message, out *sched.Actions) {
	for _, kind := range mayUse[j.Class] {
		for count > 0 {
			e := s.index.TakeIdle(j.App, kind)
			if e == nil {
				break
			}
			s.launch(s.workers[e.Owner], j, first, m.Attempt, out)
			first++
			count--
		}
	}
	switch {
	case count == 0:
	case m.Head:
		s.index.PushHead(now, j, first, count, m.Attempt)
	default:
		s.index.PushTail(now, j, first, count, m.Attempt)
	}
}

func (s *Master) launch(w *worker, j *queue.Job, task, attempt int32, out *sched.Actions) {
	s.occupy(w, j, task, attempt)
	s.counts.Launches++
	m := out.Send(w.addr, sched.Launch)
	m.Job, m.First, m.Attempt, m.Class, m.App = j.ID, task, attempt, j.Class, j.App.Name
	m.Owner, m.Estimate, m.Seq, m.Epoch = j.Owner, j.Estimate, w.seq, s.epoch
}

// idle takes the notice that a slot is free since sequence number Seq; an older
// or repeated one says nothing new.
func (s *Master) idle(from sched.Addr, m *sched.Message, out *sched.Actions) {
	w := s.worker(from.ID)
	if w == nil || m.Seq <= w.seq {
		return
	}
	w.seq = m.Seq
	s.vacate(w, out)
	if !w.Listed() {
		s.feed(w, out)
	}
}

// feed gives a free worker its next task, or puts it at the tail of its idle
// list.
func (s *Master) feed(w *worker, out *sched.Actions) {
	r := s.choose(w)
	if r == nil {
		s.index.PushIdle(&w.Idler, w.service, w.kind())
		return
	}
	j, attempt := r.Job, r.Attempt
	s.launch(w, j, s.index.Take(r), attempt, out)
}

// choose picks the run a free worker serves next. A reserved worker takes from
// the short queue only; a general one too, except that of every W consecutive
// tasks that general workers take from the queues at least one is long while the
// long queue is not empty (section 3.3, weighted fair queuing).
func (s *Master) choose(w *worker) *queue.Run {
	short := s.index.First(w.service, sched.Short)
	if w.reserved {
		return short
	}
	long := s.index.First(w.service, sched.Long)
	due := s.cfg.Params.Weight > 0 && s.passed >= s.cfg.Params.Weight-1
	switch {
	case short == nil || (due && long != nil):
		if long != nil {
			s.passed = 0
		}
		return long
	case s.index.Queued(sched.Long) > 0:
		s.passed++
	}
	return short
}

// refused puts a task that its slot did not take back at the head of its queue.
// The slot's own Idle makes it usable again.
func (s *Master) refused(now sched.Time, from sched.Addr, m *sched.Message, out *sched.Actions) {
	w := s.worker(from.ID)
	if w == nil || w.job == nil || w.job.ID != m.Job || w.task != m.First || w.attempt != m.Attempt {
		return
	}
	s.counts.Refused++
	j := w.job
	s.unlink(w)
	if j.App.Workers == 0 {
		s.giveBack(j.Owner, j.ID, m.First, 1, m.Attempt, false, out)
		s.forget(j.ID, out)
		return
	}
	s.admit(now, j, m.First, 1, &sched.Message{Attempt: m.Attempt, Head: true}, out)
}

// drop forgets queued tasks and kills running ones.
func (s *Master) drop(m *sched.Message, out *sched.Actions) {
	s.dropWaiting(m)
	j := s.jobs[m.Job]
	if j == nil {
		return
	}
	first, count := m.First, m.Count
	if count == 0 {
		first, count = 0, 1<<30
	}
	s.index.Remove(j, first, count)
	for w := s.firstOf(j); w != nil; w = w.next {
		if w.task >= first && w.task-first < count {
			k := out.Send(w.addr, sched.Kill)
			k.Job, k.First, k.Attempt, k.Epoch = j.ID, w.task, w.attempt, s.epoch
		}
	}
	s.forget(j.ID, out)
}

func (s *Master) giveBack(owner sched.Addr, job sched.JobID, first, count, attempt int32, full bool, out *sched.Actions) {
	r := out.Send(owner, sched.Returned)
	r.Job, r.First, r.Count, r.Attempt, r.Full = job, first, count, attempt, full
}

// forget drops a job of which nothing is queued or running here any more.
func (s *Master) forget(id sched.JobID, out *sched.Actions) {
	if j := s.jobs[id]; j != nil {
		if j.Queued > 0 || j.Running > 0 {
			return
		}
		delete(s.jobs, id)
	}
	out.Do(sched.Forget).Job = id
}
