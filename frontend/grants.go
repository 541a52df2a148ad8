package frontend

import (
	"strconv"
	"time"

	"github.com/pigeon-sched/pigeon/frontend/application"
	"github.com/pigeon-sched/pigeon/frontend/jobs"
	"github.com/pigeon-sched/pigeon/frontend/journal"
	"github.com/pigeon-sched/pigeon/frontend/usage"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// grantRetry is how long after a job of grants was refused for lack of room its tasks are
// reported as unused; the application service then submits them again.
const grantRetry = 200 * time.Millisecond

// grants are the jobs of applications that bring their own executors: each task is a
// grant of a slot. They are jobs of the core that are not journaled. All methods but
// Submit and Cancel belong to the owner goroutine.
type grants struct {
	*submissions
	applications *applications
	ended        []sched.JobID // in this batch
	uses         map[sched.JobID]*use
	over         []overUse // the oldest first
}

// use is for whom a job of grants had slots. It outlives the job for usesFor: a grant that was cancelled stays
// in its slot until its executor ends it.
type use struct {
	app, owner string
	class      sched.Class
	counted    map[sched.AttemptID]bool
}

type overUse struct {
	id sched.JobID
	at time.Time
}

const usesFor = 10 * time.Second

var _ application.Jobs = (*grants)(nil)

// post runs do on the owner goroutine; a stopping daemon grants nothing.
func (g *grants) post(do func()) { _ = g.loop.PostUnbounded(do) }

// Submit posts the submission of a job of grants.
func (g *grants) Submit(j application.Job) { g.post(func() { g.submit(&j) }) }

// Cancel cancels the waiting tasks of a job of grants, or its last tasks.
func (g *grants) Cancel(key string, tasks int) {
	g.post(func() {
		if id := sched.NewJobID(g.owner.scope, key); g.owner.jobs.Get(id) != nil {
			g.owner.dispatch.Step(&sched.Message{Kind: sched.Cancel, Job: id, Count: int32(tasks), Reason: "its application has no use for it"}) //nolint:gosec // at most sched.MaxTasks
		}
	})
}

// submit submits a job of grants to the core at once, since it is not journaled.
func (g *grants) submit(job *application.Job) {
	sub := g.submission(job)
	_, sub.Bounded = g.applications.bounded.Load(sub.Request.Submitter)
	if _, err := g.admit(sub); err != nil {
		time.AfterFunc(grantRetry, func() { g.post(func() { g.reportUnused(job) }) })
		return
	}
	g.uses[sub.Job] = &use{job.App, job.Owner, job.Class, map[sched.AttemptID]bool{}}
	m := g.owner.jobs.AddGrant(sub, &jobs.Grant{App: job.App, Level: job.Level, Key: job.Key}).Submit()
	g.owner.dispatch.Step(&m)
}

// reportUnused reports that none of the tasks of a job was offered a slot.
func (g *grants) reportUnused(job *application.Job) {
	for range job.Tasks {
		g.applications.TaskEnded(job.App, job.Level, job.Key, true)
	}
}

// submission returns a job of grants as a submission. Its tasks are equal, and their
// payload is the name of their level.
func (g *grants) submission(job *application.Job) *journal.Submission {
	r := api.Request{
		App: job.App, User: job.User, Owner: job.Owner, Submitter: job.Submitter, Priority: job.Priority, Key: job.Key, Estimate: time.Duration(job.Estimate), EstimateSet: job.Estimate > 0, Tasks: make([]api.Task, job.Tasks),
	}
	level := []byte(job.Level)
	for i := range r.Tasks {
		r.Tasks[i] = api.Task{ID: strconv.Itoa(i), Payload: api.Payload{Message: level}}
	}
	return &journal.Submission{Job: sched.NewJobID(g.owner.scope, job.Key), Submitted: time.Now().UnixNano(), Attempt: journaledAttempt(g.firstAttempt), Request: r, Bytes: r.Share(), Class: job.Class, Why: job.Why}
}

// persist applies a record of the core: nothing is written, and ends are reported to
// the service for applications.
func (g *grants) persist(j *jobs.Job, m *sched.Message) {
	switch m.Kind {
	case sched.TaskEnded:
		g.owner.jobs.GrantEnded(j)
		if m.Outcome != sched.Killed { // a killed grant was cancelled by the service
			g.applications.TaskEnded(j.Grant.App, j.Grant.Level, j.Grant.Key, m.Outcome != sched.Done)
		}
	case sched.JobEnded:
		g.ended = append(g.ended, j.ID)
	}
}

// removeEnded removes the jobs of grants that ended in this batch: no caller looks them
// up later.
func (g *grants) removeEnded() {
	for _, id := range g.ended {
		g.owner.jobs.Remove(id)
		g.over = append(g.over, overUse{id, time.Now()})
	}
	g.ended = g.ended[:0]
	for len(g.over) > 0 && time.Since(g.over[0].at) > usesFor {
		delete(g.uses, g.over[0].id)
		g.over = g.over[1:]
	}
}

// reported counts what a grant had of the cluster, once.
func (g *grants) reported(it *wire.Item) {
	u, id := g.uses[it.Msg.Job], it.Msg.AttemptID()
	if u == nil || it.Elapsed <= 0 || u.counted[id] {
		return
	}
	u.counted[id] = true
	g.applications.Used(u.app, u.owner, u.class, usage.Occupied(it), it.Msg.Outcome == sched.Done)
}
