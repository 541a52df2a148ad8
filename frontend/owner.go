package frontend

import (
	"log/slog"
	"sync/atomic"

	"github.com/pigeon-sched/pigeon/frontend/after"
	"github.com/pigeon-sched/pigeon/frontend/attempts"
	"github.com/pigeon-sched/pigeon/frontend/dispatch"
	"github.com/pigeon-sched/pigeon/frontend/jobs"
	"github.com/pigeon-sched/pigeon/frontend/listeners"
	"github.com/pigeon-sched/pigeon/frontend/outbox"
	"github.com/pigeon-sched/pigeon/frontend/quotas"
	"github.com/pigeon-sched/pigeon/frontend/staging"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/daemon"
	"github.com/pigeon-sched/pigeon/internal/launchsecret"
	"github.com/pigeon-sched/pigeon/internal/owners"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// owner is the state that only the owner goroutine touches.
//
//	submissions ──▶ jobs ──▶ dispatch (the core) ──records──▶ jobs, outbox ──fsynced──▶ effects
//	messages, reports ───────▶
type owner struct {
	scope       sched.JobScope // of the ids of its jobs, set before the journal is read
	log         *slog.Logger
	jobs        *jobs.Table
	traces      *traces
	attempts    *attempts.Table
	held        *quotas.Table // by unfinished jobs
	learning    *learning
	taskEnds    listeners.TaskEnds
	after       *after.Table // of the jobs that start after others
	dispatch    *dispatch.Dispatcher
	outbox      outbox.Outbox[effects]
	grants      *grants
	inventories *inventories // nil while the journal is being read
	acker       *acker
	fail        func(error) // ends the daemon
	report      *wire.Item  // being stepped, nil for none
	secrets     *launchsecret.Jobs
	staging     *staging.Keeper // files that are sent with jobs
	forged      daemon.LogPace  // of reports that are not believed
	quotas      quotaSettings
	users       atomic.Pointer[owners.Users] // which owners users may name; read from anywhere
}

// ownerUsers returns which owners users may name now. It may be called from anywhere.
func (o *owner) ownerUsers() owners.Users {
	if u := o.users.Load(); u != nil {
		return *u
	}
	return nil
}

// effects are what is done for a batch of inputs once its records are on the disk.
type effects struct {
	jobs.Effects
	free    []freed                    // held jobs for which nothing is waited any more
	acks    map[string]acknowledgement // by node
	replies []func(error)              // answers to Reports calls
}

// acknowledgement is the results of a node that are acknowledged.
type acknowledgement struct {
	attempts []sched.AttemptID
	numbers  []int64 // of the results at their node
}

// acknowledge adds acknowledgements of the results that a node reported.
func (e *effects) acknowledge(node string, more acknowledgement) {
	if e.acks == nil {
		e.acks = map[string]acknowledgement{}
	}
	a := e.acks[node]
	e.acks[node] = acknowledgement{append(a.attempts, more.attempts...), append(a.numbers, more.numbers...)}
}

// coreJobs is the table of jobs as package dispatch sees it.
type coreJobs struct {
	*jobs.Table
	owner *owner
}

var _ dispatch.Jobs = coreJobs{}

// Payloads adds to what the table has the trace of the job, its key for a master, and the secret of
// the attempt for the node of a task that this frontend launches itself.
func (c coreJobs) Payloads(m *sched.Message, count int32) wire.Extra {
	x := c.Table.Payloads(m, count)
	x.Trace = api.Trace(c.owner.traces.Carrier(c.Get(m.Job)))
	switch m.Kind {
	case sched.Tasks:
		x.ReportKey = c.owner.secrets.Key(m.Job)
	case sched.Launch:
		x.Secret = c.owner.secrets.Secret(m.AttemptID())
	}
	return x
}

// Launching also returns the trace context of the attempt.
func (c coreJobs) Launching(m *sched.Message, at wire.Ref) api.Trace {
	c.Table.Launching(m, at)
	return api.Trace(c.owner.traces.Carrier(c.Get(m.Job)))
}

// Persist applies a record of the core and adds it to the outbox.
func (c coreJobs) Persist(m *sched.Message) {
	j, o := c.Get(m.Job), c.owner
	if o.inventories != nil && (m.Kind == sched.TaskEnded || m.Kind == sched.JobEnded) {
		o.inventories.ends++
	}
	switch {
	case j == nil:
	case j.Grant != nil:
		o.grants.persist(j, m)
	default:
		o.outbox.Add(c.Record(j, m, o.report, &o.outbox.Effects().Effects))
	}
}

// handle runs one batch on the owner goroutine.
func (o *owner) handle(batch []func()) {
	for _, do := range batch {
		do()
	}
	o.dispatch.Flush()
	o.grants.removeEnded()
	o.jobs.EndBatch() // before: what Commit causes belongs to the next one
	o.outbox.Commit()
}

// release carries out the effects of a batch whose records are on the disk. If they
// could not be written, the daemon ends: the core must not get ahead of the journal.
func (o *owner) release(e *effects, err error) {
	if err != nil {
		o.fail(err)
	} else {
		o.jobs.Release(&e.Effects)
	}
	for _, reply := range e.replies {
		reply(err)
	}
	if err != nil {
		return
	}
	for _, j := range e.free {
		o.free(j)
	}
	o.acker.acknowledge(e.acks)
}
