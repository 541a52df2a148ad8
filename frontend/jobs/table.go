package jobs

import (
	"time"

	"github.com/pigeon-sched/pigeon/frontend/journal"
	"github.com/pigeon-sched/pigeon/internal/runloop"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// Options of a Table.
type Options struct {
	Retention time.Duration // of ended jobs
	MaxEnded  int           // of them, at most; 0: what memory is kept for
	Clock     runloop.Clock
	Observers []Observer // told in this order
}

// Table holds the jobs of a frontend: the unfinished ones and those that ended recently.
// It belongs to the owner goroutine. Make one with New.
//
//	Add ──▶ accepting ──Accepted──▶ unfinished ──Record──▶ decided ──Release──▶ ended ──▶ forgotten
//	        (its submission is                             (its end is          (in the
//	        being written)                                 being written)       journal for longer)
type Table struct {
	opts  Options
	jobs  map[sched.JobID]*Job
	ended endedJobs
	order order
	apart sched.Owed // sums over the held jobs, which the core does not know

	restored int // jobs of the journal that have not ended

	record  journal.Record // being applied
	batch   uint64         // of the owner goroutine, counted from 1
	applied *wire.Item     // the report whose record came last
}

// New returns an empty table.
func New(o Options) *Table { return &Table{opts: o, jobs: map[sched.JobID]*Job{}, batch: 1} }

// Start returns a job for a submission that is about to be journaled. Add or Refused follows.
func (t *Table) Start(sub *journal.Submission) *Job {
	j := newJob(sub)
	j.Acceptance = &Acceptance{ended: make(chan struct{})}
	t.observe(Change{Kind: Submitted, Job: j})
	return j
}

// Refused is called when the journal does not take the submission of a job.
func (t *Table) Refused(j *Job) { t.observe(Change{Kind: Forgotten, Job: j}) }

// Add enters a job that is about to be stepped into the core.
func (t *Table) Add(j *Job) {
	j.Arrived = t.opts.Clock.Now()
	j.Due = j.Arrived
	t.enter(j, Change{Kind: Added, Job: j})
}

// enter enters a job that was submitted.
func (t *Table) enter(j *Job, c Change) { //nolint:gocritic // a copy costs no allocation
	t.jobs[j.ID] = j
	t.order.add(j)
	t.observe(c)
}

// AddGrant enters a job of an application's level.
func (t *Table) AddGrant(sub *journal.Submission, g *Grant) *Job {
	j := newJob(sub)
	j.Grant, j.Arrived = g, t.opts.Clock.Now()
	j.Due = j.Arrived
	t.jobs[j.ID] = j
	t.observe(Change{Kind: Granted, Job: j})
	return j
}

// GrantEnded is called when a task of a job of grants has ended.
func (t *Table) GrantEnded(j *Job) { t.observe(Change{Kind: GrantEnded, Job: j}) }

// Accepted is called when the acceptance of a job is on the disk, or could not be
// written.
func (t *Table) Accepted(j *Job, err error) {
	a := j.Acceptance
	if err == nil {
		j.Acceptance = nil
		t.observe(Change{Kind: Accepted, Job: j})
	}
	a.End(err)
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
	if j == nil || j.Final != nil || id.Task < 0 || int(id.Task) >= len(j.tasks) || j.tasks[id.Task].ended {
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
		delete(t.jobs, id)
		t.observe(Change{Kind: Forgotten, Job: j})
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

// EndBatch is called when the owner goroutine has handled a batch.
func (t *Table) EndBatch() {
	t.batch++
	t.observe(Change{Kind: BatchEnded})
}

// Name returns the user's name of a job.
func (t *Table) Name(id sched.JobID) string {
	if j := t.jobs[id]; j != nil {
		return j.Status.Job
	}
	return id.String()
}

// Payloads returns the payloads of count tasks of a message, from its First on, with
// their job's name and user.
func (t *Table) Payloads(m *sched.Message, count int32) (x wire.Extra) {
	j := t.jobs[m.Job]
	if j == nil || j.Submission == nil {
		return x
	}
	r := &j.Submission.Request
	x.JobName = j.Status.Job
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

// Launching is called before a launch at a worker without a master.
func (t *Table) Launching(m *sched.Message, at wire.Ref) {
	if j := t.jobs[m.Job]; j != nil && j.Submission != nil {
		t.observe(Change{Kind: Launching, Job: j, Launch: m, At: at})
	}
}

// AtNode is called when a node is known to have a task of the job.
func (t *Table) AtNode(j *Job, node string) {
	t.observe(Change{Kind: AtNode, Job: j, At: wire.Ref{Role: sched.Worker, Name: node}})
}
