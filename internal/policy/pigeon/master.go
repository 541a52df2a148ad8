package pigeon

import (
	"github.com/pigeon-sched/pigeon/internal/policy/ended"
	"github.com/pigeon-sched/pigeon/internal/policy/recovery"
	"github.com/pigeon-sched/pigeon/internal/queue"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// mayUse lists the kinds of workers that may take a task at its arrival, in the
// order in which they are tried (section 3.2).
var mayUse = [sched.NumClasses][]sched.WorkerKind{
	sched.Short: {sched.General, sched.Reserved},
	sched.Long:  {sched.General},
}

// Master keeps one queue per class and the idle workers of one group.
//
// Invariant: while a task waits, no worker that may take it and serves its
// application is idle, unless its owner runs as much as its max allows.
type Master struct {
	cfg       sched.MasterConfig
	now       sched.Time // of the step
	live      int        // workers
	index     *queue.Index
	jobs      map[sched.JobID]*queue.Job
	workers   workers
	slots     slots
	weight    weight
	epoch     uint64
	kindsSent uint64 // SetReserved messages sent
	recovery  recovering
	lately    ended.Index
	counts    Counts
	hooks     hooks // of a variant
	wide      *wide // nil until a task of several slots or a gang comes
}

// Counts are running totals of a master's decisions.
type Counts struct {
	Launches, Lost, Refused, Moved uint64
}

// worker is the master's record of a slot.
type worker struct {
	queue.Idler
	addr       sched.Addr
	node       *node
	service    *queue.Service
	reserved   bool
	fixed      bool
	kindSent   bool // its kind was sent
	seq        uint64
	work               // the task it runs; no job when it is idle or its task is unknown
	bill       bill    // of that task
	prev, next *worker // workers of the same job, in order of launch
	ended      ended.List
	suspension // of the extension alone
	wideSlot
}

// work is a task in transit to a worker, or at one.
type work struct {
	job     *queue.Job
	task    int32
	attempt int32
	seq     uint64      // state of the slot that its launch named; 0: it ran before its slot was known here
	class   sched.Class // in which it is served; the job's, except for a canary
	moved   bool        // it came from another group
	trial   bool        // it is a canary that has not run for a cutoff
	waited  bool        // in the queue
}

func (x *work) id() sched.AttemptID {
	return sched.AttemptID{Job: x.job.ID, Task: x.task, Attempt: x.attempt}
}

func (w *worker) kind() sched.WorkerKind {
	if w.reserved {
		return sched.Reserved
	}
	return sched.General
}

// NewMaster returns a master without workers.
func NewMaster(cfg sched.MasterConfig) *Master {
	s := &Master{
		cfg: cfg, index: queue.NewIndex(), jobs: make(map[sched.JobID]*queue.Job), slots: newSlots(cfg.Params.Reserved),
		weight: weight{every: cfg.Params.Weight}, recovery: recovering{over: !cfg.Recover},
	}
	s.hooks = &overruns{master: s}
	return s
}

// NewMasterWith returns a master with options.
func NewMasterWith(cfg sched.MasterConfig, o Options) *Master {
	s := NewMaster(cfg)
	switch {
	case o.Sorted:
		s.extend(o)
	case o.Fanout:
		s.index = queue.NewOrderedIndex(queue.Orders{
			By: [sched.NumClasses]queue.Order{sched.Short: fewestQueued{}}, Overdue: overdueCutoffs * cfg.Params.Cutoff,
		})
	}
	return s
}

// Step implements [sched.Core].
func (s *Master) Step(now sched.Time, from sched.Addr, m *sched.Message, out *sched.Actions) {
	if !s.recovery.started && !s.recovery.over {
		s.recovery.started = true
		out.Timer(now+recovery.Wait, recoveryOver)
	}
	if !m.Valid() {
		return
	}
	s.now = now
	s.index.Tree().Renew(now)
	s.hooks.stepBegins(now)
	s.process(now, from, m, out)
	s.offerFreed(out)
	if s.wide != nil {
		s.wide.turn(out)
	}
}

// process processes a valid message.
func (s *Master) process(now sched.Time, from sched.Addr, m *sched.Message, out *sched.Actions) {
	switch m.Kind {
	case sched.Tasks:
		s.tasks(now, m, out)
	case sched.Idle:
		s.idle(now, s.sender(from), m, out)
	case sched.Refused:
		s.refused(now, s.sender(from), m, out)
	case sched.Drop:
		s.drop(m, out)
	case sched.Reclass:
		s.reclassed(now, m, out)
	case sched.WorkerUp:
		s.workerUp(now, m, out)
	case sched.WorkerLost:
		s.workerLost(m, out)
	case sched.WorkerServes:
		s.workerServes(m, out)
	case sched.DistributorUp:
		s.distributorUp(m.Distributor, out)
	case sched.DistributorAway:
		s.distributorAway(m.Distributor, out)
	case sched.ResultsKept:
		s.resultsKept(now, m)
	case sched.Spare:
		s.hooks.spareElsewhere(from, m.Serves, m.Reserved, out)
	case sched.MasterUp, sched.MasterLost:
		s.hooks.masterChanged(m.Peer, m.Kind == sched.MasterUp)
	case sched.GangLoad:
		s.gangLoad(from, m, out)
	case sched.SetShares:
		s.setShares(from, m)
	case sched.EpochIs:
		s.epoch = max(s.epoch, m.Epoch)
	case sched.Timeout:
		if m.Token == recoveryOver {
			s.recovered(now, out)
			return
		}
		s.hooks.timeout(m.Token, out)
	}
}

// The tokens of a master's timers.
const (
	recoveryOver = sched.RecoveryOver + iota // the wait of a master that follows another
	patienceOver                             // of one short task
	cutoffOver                               // for the short task that has run longest
)

// sender returns the live worker that sent the message, nil when the sender is none.
func (s *Master) sender(from sched.Addr) *worker {
	if from.Role != sched.Worker {
		return nil
	}
	return s.workers.get(from.ID)
}

// tasks accepts tasks, or returns them when there is no room for them.
func (s *Master) tasks(now sched.Time, m *sched.Message, out *sched.Actions) {
	accepted := false
	again := m.Resent && m.Peer.Role != sched.Master // a task that moves was launched nowhere
	switch {
	case m.Attempt < 1 || m.Count < 1:
	case again && s.recovery.over:
		s.sentAgain(now, m, out)
		s.forget(m.Job, out)
	case s.cfg.MaxTasks > 0 && s.Queued()+s.recovery.tasks+int(m.Count) > s.cfg.MaxTasks:
		out.SendReturned(m.Distributor, m.Job, m.First, m.Count, m.Attempt, true).Resent = again
		s.forget(m.Job, out)
	case again:
		s.recovery.add(m)
	default:
		s.accept(now, m, out)
		accepted = true
	}
	s.hooks.tasksFrom(m.Peer, accepted, out)
}

// accept launches the tasks for which a worker is idle and queues the others; without a
// worker that serves the application it returns all of them.
func (s *Master) accept(now sched.Time, m *sched.Message, out *sched.Actions) {
	j := s.jobs[m.Job]
	if j != nil {
		s.acceptMore(now, j, m, out)
		return
	}
	if app := s.index.Find(m.App); app == nil || app.Workers == 0 {
		out.SendReturned(m.Distributor, m.Job, m.First, m.Count, m.Attempt, false)
		s.forget(m.Job, out)
		return
	}
	j = s.newJob(m)
	if s.admit(now, j, m.First, m.Count, m, out); j.Queued+j.Running == 0 {
		s.forget(m.Job, out) // all its tasks have moved to other groups
	}
}

// newJob adds the job of a message.
func (s *Master) newJob(m *sched.Message) *queue.Job {
	j := &queue.Job{ID: m.Job, DistributorID: m.Distributor.ID, Class: m.Class, Marks: lasting(m.Marks), Estimate: m.Estimate}
	if s.jobs[m.Job] = j; m.Slots <= 1 && !m.Gang {
		s.index.Enter(j, m.App, m.Owner, m.Priority)
	} else {
		s.index.EnterWith(j, queue.DemandOf(m), m.App, m.Owner, m.Priority)
		s.meetWide(j, m.Total)
	}
	s.hooks.jobAdded(j, m.Arrival, m.Total)
	return j
}

// lasting returns those of the marks that concern the whole job.
func lasting(m sched.Marks) sched.Marks {
	return m & (sched.Stoppable | sched.Restartable | sched.Undeclared)
}

// repeated records what a message states about a job that this master knows.
func (s *Master) repeated(now sched.Time, j *queue.Job, m *sched.Message, out *sched.Actions) {
	s.changeOwner(j, m.Owner, m.Priority)
	if j.Class != m.Class { // a registering worker has reported that of a launch, which for a canary is short
		s.requeue(now, j, m.Class, out)
		s.index.Changed(j)
	}
	s.hooks.jobRepeated(j, m.Arrival, m.Total, m.Marks)
}

// acceptMore accepts tasks of a job that is known here. The message may be a
// repetition: a task that is held with this attempt or a later one is left alone. An
// earlier attempt that waits is replaced; one that runs continues, because the attempt
// that ends first counts.
func (s *Master) acceptMore(now sched.Time, j *queue.Job, m *sched.Message, out *sched.Actions) {
	s.wide.putBack(j)
	s.meetWide(j, m.Total)
	s.repeated(now, j, m, out)
	known := recovery.NewKnown(m)
	s.eachHeld(j, known.KnowAll)
	known.EachEarlier(m.Attempt, func(first, count int32) {
		s.index.Remove(j, first, count)
		if j.App().Workers == 0 {
			out.SendReturned(m.Distributor, j.ID, first, count, m.Attempt, false)
			return
		}
		s.admit(now, j, first, count, m, out)
	})
	s.forget(j.ID, out)
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
	s.wide.putBack(j)
	removed := s.index.Remove(j, first, count)
	if s.wide != nil {
		s.wide.shrunk(j, removed)
	}
	for w := s.workers.running(j); w != nil; w = w.next {
		if w.task >= first && w.task-first < count {
			s.kill(w, w.id(), out)
		}
	}
	s.hooks.jobDropped(j, first, count, out)
	s.forget(j.ID, out)
}

func (s *Master) kill(w *worker, id sched.AttemptID, out *sched.Actions) {
	k := out.Send(w.addr, sched.Kill)
	k.Job, k.First, k.Attempt, k.Epoch = id.Job, id.Task, id.Attempt, s.epoch
}

// forget drops a job without queued, running or suspended tasks here.
func (s *Master) forget(id sched.JobID, out *sched.Actions) {
	if j := s.jobs[id]; j != nil {
		if j.Queued > 0 || j.Running > 0 || s.hooks.suspended(j) > 0 || s.wide != nil && s.wide.holds(j) {
			return
		}
		delete(s.jobs, id)
		s.hooks.jobForgotten(j)
		if s.wide != nil {
			delete(s.wide.facts, j)
		}
		s.index.Exit(j)
	}
	if !s.recovery.over { // tasks of it may wait in the recovery
		s.recovery.forgot = append(s.recovery.forgot, id)
		return
	}
	out.Do(sched.Forget).Job = id
}
