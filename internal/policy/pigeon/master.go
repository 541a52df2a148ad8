package pigeon

import (
	"github.com/pigeon-sched/pigeon/internal/queue"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

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
	tells    uint64 // SetReserved messages sent
	recovery recovery
	counts   Counts
	sorted   *sorted // nil in Pigeon itself
}

// Counts are running totals of a master's decisions.
type Counts struct {
	Launches, Lost, Refused, Moved uint64
}

// worker is what the master knows of a slot.
type worker struct {
	queue.Idler
	addr       sched.Addr
	node       *node
	service    *queue.Service
	reserved   bool
	fixed      bool
	told       bool // its kind
	seq        uint64
	job        *queue.Job // what it runs, nil when idle or unknown
	task       int32
	attempt    int32
	moved      bool    // what it runs came from another group
	stint      stint   // of what it runs; kept for sorted queues only
	held       *held   // suspended here, nil for none
	overtook   bool    // what it runs was sent to suspend what ran
	longAt     int     // 1 + place among those that can be preempted, else 0
	prev, next *worker // workers of the same job, in order of launch
	ended      endedList
}

func (w *worker) kind() queue.Kind {
	if w.reserved {
		return queue.Reserved
	}
	return queue.General
}

// NewMaster gives a master without workers.
func NewMaster(cfg sched.MasterConfig) *Master {
	return &Master{cfg: cfg, index: queue.NewIndex(), jobs: make(map[sched.JobID]*queue.Job), recovery: recovery{over: !cfg.Recover}}
}

// NewMasterWith gives a master with options.
func NewMasterWith(cfg sched.MasterConfig, o Options) *Master {
	s := NewMaster(cfg)
	if o.Sorted {
		s.sorted, s.index = newSorted(cfg, o)
	}
	return s
}

// Step implements [sched.Core].
func (s *Master) Step(now sched.Time, from sched.Addr, m *sched.Message, out *sched.Actions) {
	if !s.recovery.started && !s.recovery.over {
		s.recovery.started = true
		out.Timer(now+recoverWait, 0)
	}
	if !m.Valid() {
		return
	}
	if s.sorted != nil {
		s.sorted.now = now
		s.index.Renew(now)
	}
	switch m.Kind {
	case sched.Tasks, sched.Moved:
		s.tasks(now, m, out)
	case sched.Idle:
		s.idle(now, s.sender(from), m, out)
	case sched.Refused:
		s.refused(now, s.sender(from), m, out)
	case sched.Drop:
		s.drop(m, out)
	case sched.WorkerUp:
		s.workerUp(now, m, out)
	case sched.WorkerLost:
		s.workerLost(now, m, out)
	case sched.WorkerServes:
		s.workerServes(m, out)
	case sched.Spare:
		s.spare(from, m, out)
	case sched.MasterUp, sched.MasterLost:
		s.meet(m)
	case sched.EpochIs:
		s.epoch = max(s.epoch, m.Epoch)
	case sched.Timeout:
		if m.Token == patienceOver {
			s.impatient(out)
			return
		}
		s.recovered(now, out)
	}
}

// sender gives the live worker that speaks, nil when it is none.
func (s *Master) sender(from sched.Addr) *worker {
	if from.Role != sched.Worker {
		return nil
	}
	return s.worker(from.ID)
}

// tasks takes tasks in, or hands them back when there is no room for them.
func (s *Master) tasks(now sched.Time, m *sched.Message, out *sched.Actions) {
	switch {
	case m.Attempt < 1 || m.Count < 1:
	case s.cfg.MaxTasks > 0 && s.Queued()+s.recovery.tasks+int(m.Count) > s.cfg.MaxTasks:
		s.giveBack(m.Owner, m.Job, m.First, m.Count, m.Attempt, true, out)
		s.forget(m.Job, out)
	case m.Resent && !s.recovery.over:
		s.recovery.add(m)
	default:
		s.take(now, m, out)
	}
}

// take launches what finds an idle worker and queues the rest; without a worker
// that serves the application everything goes back.
func (s *Master) take(now sched.Time, m *sched.Message, out *sched.Actions) {
	j := s.jobs[m.Job]
	if j != nil {
		s.takeMore(now, j, m, out)
		return
	}
	if app := s.index.Find(m.App); app == nil || app.Workers == 0 {
		s.giveBack(m.Owner, m.Job, m.First, m.Count, m.Attempt, false, out)
		s.forget(m.Job, out)
		return
	}
	s.admit(now, s.newJob(m), m.First, m.Count, m, out)
	if s.sorted != nil {
		s.forget(m.Job, out) // all of it may have moved on
	}
}

// newJob enters the job of a message.
func (s *Master) newJob(m *sched.Message) *queue.Job {
	j := &queue.Job{ID: m.Job, OwnerID: m.Owner.ID, App: s.index.Hold(m.App), Class: m.Class, Estimate: m.Estimate}
	s.jobs[m.Job] = j
	if s.sorted != nil {
		s.sorted.facts[j] = &facts{arrival: m.Arrival}
	}
	return j
}

// takeMore takes tasks of a job that is known here. The message may have come
// twice, or repeat what an earlier master launched: a task that is held with
// this attempt or a later one is left alone. An earlier attempt that waits gives
// way; one that runs goes on, for whichever ends first counts.
func (s *Master) takeMore(now sched.Time, j *queue.Job, m *sched.Message, out *sched.Actions) {
	held := make([]int32, m.Count) // latest attempt of each task
	j.EachRun(func(r *queue.Run) {
		for i := max(r.First, m.First); i < min(r.First+r.Count, m.First+m.Count); i++ {
			held[i-m.First] = max(held[i-m.First], r.Attempt)
		}
	})
	for w := s.firstOf(j); w != nil; w = w.next {
		if i := w.task - m.First; i >= 0 && i < m.Count {
			held[i] = max(held[i], w.attempt)
		}
	}
	for i := int32(0); i < m.Count; {
		first := i
		for i < m.Count && held[i] < m.Attempt {
			i++
		}
		if i == first {
			i++
			continue
		}
		s.index.Remove(j, m.First+first, i-first)
		if j.App.Workers == 0 {
			s.giveBack(m.Owner, j.ID, m.First+first, i-first, m.Attempt, false, out)
			continue
		}
		s.admit(now, j, m.First+first, i-first, m, out)
	}
	s.forget(j.ID, out)
}

func (s *Master) admit(now sched.Time, j *queue.Job, first, count int32, m *sched.Message, out *sched.Actions) {
	moved := m.Kind == sched.Moved
	for _, kind := range mayUse[j.Class] {
		for count > 0 {
			e := s.index.TakeIdle(j.App, kind)
			if e == nil {
				break
			}
			s.launch(s.workers[e.Owner], j, first, m.Attempt, moved, out)
			first++
			count--
		}
	}
	if s.sorted != nil {
		for count > 0 && s.elsewhere(j, first, m.Attempt, moved, out) {
			first++
			count--
		}
	}
	if count > 0 && s.sorted != nil {
		s.wait(j, first, count, out)
	}
	switch {
	case count == 0:
	case m.Head:
		s.index.PushHead(now, j, first, count, m.Attempt).Moved = moved
	default:
		s.index.PushTail(now, j, first, count, m.Attempt).Moved = moved
	}
}

func (s *Master) launch(w *worker, j *queue.Job, task, attempt int32, moved bool, out *sched.Actions) {
	s.send(sched.Launch, w, j, task, attempt, moved, out)
}

func (s *Master) send(kind sched.Kind, w *worker, j *queue.Job, task, attempt int32, moved bool, out *sched.Actions) {
	s.occupy(w, j, task, attempt)
	w.moved = moved
	s.counts.Launches++
	if s.sorted != nil {
		s.begin(w, 0)
	}
	m := out.Send(w.addr, kind)
	m.Job, m.First, m.Attempt, m.Class, m.App = j.ID, task, attempt, j.Class, j.App.Name
	m.Owner, m.Estimate, m.Seq, m.Epoch = j.Owner(), j.Estimate, w.seq, s.epoch
}

// idle takes the notice that a slot is free since sequence number Seq; an older
// or repeated one says nothing new. What was launched there has ended, or was
// refused, which the slot will tell.
func (s *Master) idle(now sched.Time, w *worker, m *sched.Message, out *sched.Actions) {
	if w == nil || m.Seq <= w.seq {
		return
	}
	if w.overtook && s.endedBefore(now, w, m, out) {
		return
	}
	w.seq, w.overtook = m.Seq, false
	if w.job != nil {
		w.ended.add(now, sched.AttemptID{Job: w.job.ID, Task: w.task, Attempt: w.attempt}, w.job.Owner())
		s.vacate(w, out)
	}
	if !w.Listed() {
		s.feed(w, out)
	}
}

// feed gives a free worker its next task, or puts it at the tail of its idle
// list.
func (s *Master) feed(w *worker, out *sched.Actions) {
	r := s.choose(w)
	if w.held != nil && (r == nil || r.Job.Class == sched.Long) {
		s.resume(w, out)
		return
	}
	if r == nil {
		s.index.PushIdle(&w.Idler, w.service, w.kind())
		if s.sorted != nil {
			s.tellSpare(w, out)
		}
		return
	}
	j, attempt, moved := r.Job, r.Attempt, r.Moved
	s.launch(w, j, s.index.Take(r), attempt, moved, out)
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
	switch {
	case short == nil || (long != nil && s.longIsDue()):
		if long != nil {
			s.passed = 0
		}
		return long
	case s.index.Queued(sched.Long) > 0:
		s.passed++
	}
	return short
}

// longIsDue says that by the weight the next task of a general worker is long.
func (s *Master) longIsDue() bool {
	return s.cfg.Params.Weight > 0 && s.passed >= s.cfg.Params.Weight-1
}

// refused puts a task that its slot did not take back at the head of its queue.
// The slot's own Idle makes it usable again. Where that notice was faster, the
// task passed for ended and is forgotten here: it goes back to its owner.
func (s *Master) refused(now sched.Time, w *worker, m *sched.Message, out *sched.Actions) {
	if w == nil {
		return
	}
	if w.job == nil || w.job.ID != m.Job || w.task != m.First || w.attempt != m.Attempt {
		if owner, ok := w.ended.remove(m.AttemptID()); ok {
			s.counts.Refused++
			s.giveBack(owner, m.Job, m.First, 1, m.Attempt, false, out)
		}
		return
	}
	s.counts.Refused++
	j := w.job
	s.unlink(w)
	if j.App.Workers == 0 {
		s.giveBack(j.Owner(), j.ID, m.First, 1, m.Attempt, false, out)
		s.forget(j.ID, out)
		return
	}
	again := sched.Message{Kind: sched.Tasks, Attempt: m.Attempt, Head: true}
	if w.moved {
		again.Kind = sched.Moved
	}
	s.admit(now, j, m.First, 1, &again, out)
}

// drop forgets queued tasks and kills running ones.
func (s *Master) drop(m *sched.Message, out *sched.Actions) {
	first, count := m.First, m.Count
	if count == 0 {
		first, count = 0, sched.MaxTasks
	}
	s.recovery.drop(m.Job, first, count)
	j := s.jobs[m.Job]
	if j == nil {
		return
	}
	s.index.Remove(j, first, count)
	for w := s.firstOf(j); w != nil; w = w.next {
		if w.task >= first && w.task-first < count {
			k := out.Send(w.addr, sched.Kill)
			k.Job, k.First, k.Attempt, k.Epoch = j.ID, w.task, w.attempt, s.epoch
		}
	}
	s.killHeld(j, first, count, out)
	s.forget(j.ID, out)
}

func (s *Master) giveBack(owner sched.Addr, job sched.JobID, first, count, attempt int32, full bool, out *sched.Actions) {
	r := out.Send(owner, sched.Returned)
	r.Job, r.First, r.Count, r.Attempt, r.Full = job, first, count, attempt, full
}

// forget drops a job of which nothing is queued or running here any more.
func (s *Master) forget(id sched.JobID, out *sched.Actions) {
	if j := s.jobs[id]; j != nil {
		if j.Queued > 0 || j.Running > 0 || s.isHeld(j) {
			return
		}
		delete(s.jobs, id)
		if s.sorted != nil {
			delete(s.sorted.facts, j)
		}
		s.index.Release(j.App)
	}
	if !s.recovery.over { // tasks of it may wait apart
		s.recovery.forgot = append(s.recovery.forgot, id)
		return
	}
	out.Do(sched.Forget).Job = id
}
