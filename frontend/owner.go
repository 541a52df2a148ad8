package frontend

import (
	"log/slog"
	"time"

	"github.com/pigeon-sched/pigeon/frontend/journal"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/ledger"
	"github.com/pigeon-sched/pigeon/internal/roster"
	"github.com/pigeon-sched/pigeon/internal/runloop"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// distributorCore is what the shell needs of a policy's distributor beside
// stepping it.
type distributorCore interface {
	sched.Core
	Ledger() *ledger.Ledger
}

// owner is everything that only the owner goroutine touches.
type owner struct {
	cfg       Config
	log       *slog.Logger
	self      wire.Ref
	addr      sched.Addr
	core      distributorCore
	steps     *runloop.Stepper
	clock     runloop.Clock
	timers    *runloop.Timers
	roster    *roster.Roster
	journal   *journal.Journal
	urge      func(...func()) error
	fail      func(error) // ends the daemon
	ready     func()      // called when masters were given to the core for the first time
	internal  string      // where this frontend serves other daemons
	scheduler string      // where it serves applications
	jobs      map[sched.JobID]*job
	ended     endedJobs
	masters   []*master // by group; the slice never changes
	nodes     *nodeNames
	dirty     []*master // with items to send after the batch
	batch     batchResult
	writing   *batchResult // the last that is on its way to the disk, nil when none is
	current   *wire.Item   // the report being stepped
	reporter  string       // the node it came from
	relay     *relay
	acker     *acker
	meter     *meter
	spans     *spans
	history   *history // nil when none is written
	settled   bool     // masters were given to the core for the first time
}

// batchResult is what one batch of inputs wants done once its records are on
// the disk.
type batchResult struct {
	records []journal.Record
	life    []lifeEvent
	acks    map[string][]sched.AttemptID // by node
	ended   []*job
	told    []builtinEnd
	replies []func(error) // answers to Reports calls
	after   []batchResult // that came later and had nothing to write
}

func (b *batchResult) acknowledge(node string, id sched.AttemptID) {
	if b.acks == nil {
		b.acks = map[string][]sched.AttemptID{}
	}
	b.acks[node] = append(b.acks[node], id)
}

// builtinEnd is a task of a built-in backend whose application is told.
type builtinEnd struct {
	app    string
	task   wire.TaskRef
	status int32
}

// step gives the core a message.
func (o *owner) step(from sched.Addr, m *sched.Message) {
	o.steps.Step(o.core, o.addr, o.clock.Now(), from, m)
}

// stepShell gives the core what only its shell can know.
func (o *owner) stepShell(m *sched.Message) { o.step(sched.Addr{}, m) }

// act carries out one action of the core.
func (o *owner) act(self sched.Addr, a *sched.Action) {
	switch a.Kind {
	case sched.Send:
		o.send(a)
	case sched.Timer:
		o.timers.Set(self, a.At, a.Token)
	case sched.Persist:
		o.persist(&a.Msg)
	}
}

// send queues a message for a master, with the cargo of its tasks.
func (o *owner) send(a *sched.Action) {
	if a.To.Role != sched.Master || int(a.To.ID) >= len(o.masters) {
		return
	}
	m := o.masters[a.To.ID]
	if m.incarnation == 0 {
		return // not registered there: MasterUp sends again what is still owed
	}
	it := wire.Item{From: o.self, To: roster.MasterRef(int(a.To.ID)), Msg: a.Msg}
	if a.Msg.Kind == sched.Tasks {
		j := o.jobs[a.Msg.Job]
		it.JobName, it.User = j.status.Job, j.sub.Request.User
		it.OwnerAddress, it.SchedulerAddress = o.internal, o.scheduler
		it.Trace = j.trace.carrier
		it.Payloads, it.TaskIDs = j.cargo(a.Msg.First, a.Msg.Count)
	}
	if len(m.pending) == 0 {
		o.dirty = append(o.dirty, m)
	}
	m.pending = append(m.pending, it)
}

// persist notes a record of the core for the journal, and what it means to the
// job's status.
func (o *owner) persist(m *sched.Message) {
	j := o.jobs[m.Job]
	if j == nil {
		return
	}
	r := journal.Record{Job: m.Job, First: m.First, Count: m.Count, Attempt: m.Attempt, Losses: m.Losses, Retries: m.Retries, Outcome: m.Outcome, Reason: m.Reason}
	switch m.Kind {
	case sched.Placed:
		r.Kind, r.Group = journal.Placed, m.Peer.ID
	case sched.NewAttempt:
		r.Kind = journal.NewAttempt
		j.status.Attempts++
		o.meter.retried(m.Outcome)
		o.tellLife(j, m.First, m.Attempt-1, m.Outcome.String())
		o.spans.again(j, o.reportOf(m), m)
	case sched.TaskEnded:
		r.Kind, r.At = journal.TaskEnded, time.Now().UnixNano()
		o.taskEnded(j, m, &r)
		o.tellResult(j, m)
	case sched.Cancel:
		r.Kind, r.At = journal.Cancelled, time.Now().UnixNano()
	case sched.JobEnded:
		r.Kind = journal.JobEnded
		r.Ended = o.jobEnded(j, m)
		o.tellLife(j, -1, 0, string(j.final.State))
	}
	o.batch.records = append(o.batch.records, r)
}

// reportOf gives the report being stepped if it is of the task of m.
func (o *owner) reportOf(m *sched.Message) *wire.Item {
	if it := o.current; it != nil && it.Msg.Job == m.Job && it.Msg.First == m.First {
		return it
	}
	return nil
}

// taskEnded books an accepted result.
func (o *owner) taskEnded(j *job, m *sched.Message, r *journal.Record) {
	rep := &j.reports[m.First]
	rep.attempt, rep.failed = m.Attempt, m.Outcome == sched.Failed
	if it := o.reportOf(m); it != nil {
		rep.elapsed, rep.node = it.Elapsed, o.nodes.index(o.reporter)
		r.Elapsed, rep.exit = it.Elapsed, int16(it.Exit) //nolint:gosec // at most 128 + a signal's number
		o.meter.taskEnded(j.sub.Class, o.clock.Now()-j.arrived, it.Elapsed)
		o.spans.reported(j, it)
	}
	if rep.failed {
		j.status.Failed++
	} else {
		j.status.Completed++
	}
	if j.sub.Request.Backend == api.BackendApp || j.sub.Request.App == "" {
		return // the application hears from its own backend
	}
	status := int32(0)
	if rep.failed {
		status = 1
	}
	o.batch.told = append(o.batch.told, builtinEnd{app: j.sub.Request.App, status: status, task: wire.TaskRef{
		Task: j.sub.Request.Tasks[m.First].ID, Job: j.status.Job, App: j.sub.Request.App, Scheduler: o.scheduler,
		HT: j.sub.Class == sched.Short,
	}})
}

// jobEnded books the end of a job; it is told when it is on the disk.
func (o *owner) jobEnded(j *job, m *sched.Message) *journal.Ended {
	now := time.Now()
	s := j.status
	s.State = map[sched.Outcome]api.State{sched.Done: api.StateCompleted, sched.Failed: api.StateFailed, sched.Killed: api.StateCancelled}[m.Outcome]
	s.Reason, s.Ended, s.Running = m.Reason, unixSeconds(now), 0
	s.Seconds = (o.clock.Now() - j.arrived).Seconds()
	j.final = &s
	o.meter.jobEnded(j)
	o.batch.ended = append(o.batch.ended, j)
	return &journal.Ended{Job: j.id, Key: s.Job, At: now.UnixNano(), Status: s}
}
