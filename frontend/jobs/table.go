package jobs

import (
	"log/slog"
	"time"

	"github.com/pigeon-sched/pigeon/frontend/journal"
	"github.com/pigeon-sched/pigeon/frontend/quotas"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/classes"
	"github.com/pigeon-sched/pigeon/internal/runloop"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/internal/telemetry"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// Options of a Table.
type Options struct {
	Retention time.Duration // of ended jobs
	MaxEnded  int           // of them, at most; 0: what memory is kept for
	Clock     runloop.Clock
	Tracing   *telemetry.Tracing
	Metrics   *Metrics
	Learner   *classes.Learner // nil: one that knows nothing
	History   *History         // nil when none is written
	Log       *slog.Logger     // nil discards
	Usage     Usage            // nil when nobody wants it
	Publish   func(api.Event)  // is told what happens to jobs, once it is on the disk; nil: nobody is
}

// Table holds the jobs of a frontend: the unfinished ones and those that ended recently.
// It belongs to the owner goroutine. Make one with New.
//
//	Add ──▶ accepting ──Accepted──▶ unfinished ──Record──▶ decided ──Release──▶ ended ──▶ forgotten
//	        (its submission is                             (its end is          (in the
//	        being written)                                 being written)       journal for longer)
type Table struct {
	records
	jobs  map[sched.JobID]*Job
	ended endedJobs
	held  held
	order order

	traced []*Job // that ended before this process began, until all are restored

	restored int // jobs of the journal that have not ended
}

// New returns an empty table.
func New(o Options) *Table {
	if o.Learner == nil {
		o.Learner = classes.New(classes.Settings{})
	}
	return &Table{records: records{opts: o, spans: spans{o.Tracing}, nodes: newNodeNames()}, jobs: map[sched.JobID]*Job{}, held: held{holders: map[string]*holding{}, submitters: map[string]*holding{}, quotas: quotas.New()}}
}

// Start returns a job for a submission and begins its trace. The submission is changed to
// contain the trace context, so that the journal keeps it.
func (t *Table) Start(sub *journal.Submission) *Job {
	j := newJob(sub)
	t.begin(j)
	t.spans.began(j)
	return j
}

// Add enters a job that is about to be stepped into the core.
func (t *Table) Add(j *Job) {
	t.jobs[j.ID] = j
	t.held.add(j)
	t.order.add(j)
	j.arrived = t.opts.Clock.Now()
	j.due = j.arrived
	t.opts.Metrics.accept(j)
}

// AddGrant enters a job of an application's level.
func (t *Table) AddGrant(sub *journal.Submission, g *Grant) *Job {
	j := newJob(sub)
	j.Grant, j.Durable, j.arrived = g, true, t.opts.Clock.Now()
	j.due = j.arrived
	t.jobs[j.ID] = j
	t.held.add(j)
	return j
}

// Accepted is called when the acceptance of a job is on the disk, or could not be
// written.
func (t *Table) Accepted(j *Job, err error) {
	if j.Durable = err == nil; j.Durable && t.opts.History != nil {
		t.opts.History.add(lifeEvent{at: j.arrived, job: j.Status.Job, task: -1, event: "submitted"})
	}
	if j.Durable {
		t.publishAccepted(j)
	}
	for _, answer := range j.accepting {
		answer(err)
	}
	j.accepting = nil
}

// Get returns a job for a message of the core, nil when the table does not have it.
func (t *Table) Get(id sched.JobID) *Job { return t.jobs[id] }

// Known returns a job for a caller's query, nil when it is unknown or has been forgotten.
func (t *Table) Known(id sched.JobID) *Job {
	t.forget()
	return t.jobs[id]
}

// Wants reports whether an attempt may still count: its task has no result yet, and its
// number is not that of an earlier job of the same id. Of a job that asks for at most one
// live copy only the last attempt is wanted.
func (t *Table) Wants(id sched.AttemptID) bool {
	j := t.jobs[id.Job]
	if j == nil || j.final != nil || id.Task < 0 || int(id.Task) >= len(j.reports) || j.reports[id.Task].ended() {
		return false
	}
	if j.Submission != nil && j.Submission.Request.MaxDisconnect > 0 {
		return id.Attempt >= j.Attempt(id.Task)
	}
	return id.Attempt >= j.firstAttempt()
}

// Restored returns how many jobs of the journal have not ended.
func (t *Table) Restored() int { return t.restored }

// Remove removes a job of an application's level.
func (t *Table) Remove(id sched.JobID) {
	if j := t.jobs[id]; j != nil {
		t.held.remove(j)
		t.nodes.forget(j)
		delete(t.jobs, id)
	}
}

// All returns the jobs that were submitted, in no order.
func (t *Table) All() []*Job {
	t.forget()
	list := make([]*Job, 0, len(t.jobs))
	for _, j := range t.jobs { // sorted by the caller
		if j.Grant == nil {
			list = append(list, j)
		}
	}
	return list
}

// Flush flushes the history, and exports the sums over the unfinished jobs.
func (t *Table) Flush(owed sched.Owed) {
	t.opts.History.flush()
	owed.Jobs += t.apart.Jobs
	owed.Tasks += t.apart.Tasks
	t.opts.Metrics.owed(owed, t.held.bytes)
	t.opts.Metrics.apart.Store(int64(t.apart.Jobs))
	t.opts.Metrics.works.Store(int64(t.opts.Learner.Works()))
}

// Name returns the user's name of a job.
func (t *Table) Name(id sched.JobID) string {
	if j := t.jobs[id]; j != nil {
		return j.Status.Job
	}
	return id.String()
}

// Payloads returns the payloads of count tasks of a message, from its First on, with
// their job's name, user and trace.
func (t *Table) Payloads(m *sched.Message, count int32) (x wire.Extra) {
	j := t.jobs[m.Job]
	if j == nil || j.Submission == nil {
		return x
	}
	r := &j.Submission.Request
	x.JobName, x.Trace = j.Status.Job, j.trace.carrier
	x.User, x.UserGroup, x.UserPriority = r.User, r.UserGroup, r.Priority
	x.MaxDisconnect = r.MaxDisconnect
	x.Payloads, x.TaskIDs = j.payloads(m.First, count)
	return x
}

// Owner returns for whom a job runs and its priority.
func (t *Table) Owner(id sched.JobID) (owner string, priority int32) {
	if j := t.jobs[id]; j != nil {
		return j.Status.Owner, j.Status.Priority
	}
	return "", 0
}

// Launching records the stage before a launch at a worker without a master, and returns
// the trace context of the attempt.
func (t *Table) Launching(m *sched.Message, at wire.Ref) api.Trace {
	j := t.jobs[m.Job]
	if j == nil || j.Submission == nil {
		return api.Trace{}
	}
	t.spans.bound(j, m, at)
	t.At(j, at.Name)
	j.launched(m)
	return j.trace.carrier
}
