package frontend

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"github.com/pigeon-sched/pigeon/frontend/application"
	"github.com/pigeon-sched/pigeon/frontend/journal"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/files"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/internal/telemetry"
	"github.com/pigeon-sched/pigeon/thrift/client"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// maxFiles bounds the bytes of applications' files at a frontend.
const maxFiles = 4 << 30

// grantLoss is how long a job of grants that found no room waits before it is
// given out anew.
const grantLoss = 200 * time.Millisecond

// serveApplications makes the part for applications that bring their own
// executors, when the addresses and the masters are known.
func (f *Frontend) serveApplications() error {
	store, err := files.Open(filepath.Join(f.cfg.Data, "files"), maxFiles)
	if err != nil {
		return err
	}
	// To nodes another process of this frontend is another one, which takes over what
	// this one had.
	cfg := application.Config{
		Frontend: fmt.Sprintf("%s.%08x", f.cfg.ID, uint32(f.incarnation)), Address: f.owner.internal, Scheduler: f.owner.scheduler, Cutoff: f.cfg.Cutoff, DefaultClass: f.defaultClass(),
		Lease: f.cfg.ApplicationLease,
		Files: store, Jobs: grantJobs{f}, Dial: f.dialNode, Logger: f.log,
	}
	if f.owner.plan.rolled() {
		cfg.Refusal = fmt.Sprintf("policy %s runs sleep and exec tasks only", f.owner.plan.Name)
	}
	for _, m := range f.masters {
		cfg.Memberships = append(cfg.Memberships, m.peer)
	}
	f.applications = application.New(cfg)
	f.owner.grantEnded = f.applications.TaskEnded
	if f.web != nil {
		f.web.Handle("GET /applications", telemetry.JSON(func(context.Context) (any, error) { return f.applications.Views(), nil }))
	}
	return nil
}

// dialNode returns a way to a node monitor.
func (f *Frontend) dialNode(name, address string) (application.Node, func(), error) {
	pool, err := client.New(client.Options{Name: "node " + name, Address: address, MaxConns: 2, FailFast: true, MaxFrame: wire.MaxBatchBytes})
	if err != nil {
		return nil, nil, err
	}
	return wire.NewPeerClient(pool, f.codec), func() { _ = pool.Close() }, nil // it has no error
}

// grant is what a job of an application's level has beside other jobs; it is not
// journaled, as the application tells its levels again after any failure.
type grant struct {
	app, level, key string
}

// grantJobs puts the jobs of applications into the owner's inbox.
type grantJobs struct{ f *Frontend }

var _ application.Jobs = grantJobs{}

// Give enters a job of grants.
func (g grantJobs) Give(j application.Job) {
	_ = g.f.urge(func() { g.f.owner.give(&j) }) // a stopping daemon gives nothing
}

// Cancel takes back what waits of one, or of its last tasks.
func (g grantJobs) Cancel(key string, tasks int) {
	_ = g.f.urge(func() { // likewise
		o := g.f.owner
		if id := sched.NewJobID(o.cfg.ID, key); o.jobs[id] != nil {
			o.stepShell(&sched.Message{Kind: sched.Cancel, Job: id, Count: int32(tasks), Reason: "its application has no use for it"}) //nolint:gosec // at most sched.MaxTasks
		}
	})
}

// give enters a job of grants: at once, as nothing of it is written.
func (o *owner) give(g *application.Job) {
	sub := o.submissionOf(g)
	if o.room(sub) != nil {
		time.AfterFunc(grantLoss, func() { _ = o.urge(func() { o.miss(g) }) }) // likewise
		return
	}
	j := newJob(sub.Job, sub)
	j.grant = &grant{app: g.App, level: g.Level, key: g.Key}
	j.durable, j.arrived = true, o.clock.Now()
	o.jobs[j.id] = j
	m := j.submit()
	o.stepShell(&m)
}

// miss says of every task of a job that it was never offered.
func (o *owner) miss(g *application.Job) {
	for range g.Tasks {
		o.grantEnded(g.App, g.Level, g.Key, true)
	}
}

// submissionOf puts a job of grants as one that was submitted: its tasks are equal
// and carry the name of their level.
func (o *owner) submissionOf(g *application.Job) *journal.Submission {
	r := api.Request{
		App: g.App, User: g.User, Key: g.Key, Estimate: time.Duration(g.Estimate), EstimateSet: g.Estimate > 0, Tasks: make([]api.Task, g.Tasks),
	}
	level := []byte(g.Level)
	for i := range r.Tasks {
		r.Tasks[i] = api.Task{ID: strconv.Itoa(i), Payload: api.Payload{Message: level}}
	}
	return &journal.Submission{Job: sched.NewJobID(o.cfg.ID, g.Key), Submitted: time.Now().UnixNano(), Request: r, Class: g.Class, Why: g.Why}
}

// persistGrant takes what the core records of a job of grants: nothing is written,
// and ends are told to the part for applications.
func (o *owner) persistGrant(j *job, m *sched.Message) {
	switch m.Kind {
	case sched.TaskEnded:
		if m.Outcome == sched.Killed {
			return // it was taken back
		}
		o.grantEnded(j.grant.app, j.grant.level, j.grant.key, m.Outcome != sched.Done)
	case sched.JobEnded:
		o.spent = append(o.spent, j.id)
	}
}

// forgetSpent drops the jobs of grants that have ended in this batch: nobody asks
// for them later.
func (o *owner) forgetSpent() {
	for _, id := range o.spent {
		delete(o.jobs, id)
	}
	o.spent = o.spent[:0]
}

var (
	_ wire.ExecutorOwners = (*Frontend)(nil)
	_ wire.FileKeeper     = (*Frontend)(nil)
)

// RegisterApplication takes in an application that brings its own executors.
func (f *Frontend) RegisterApplication(ctx context.Context, a *api.Application) (api.ApplicationReply, error) {
	return f.applications.RegisterApplication(ctx, a)
}

// PutFile takes a piece of a file of an application.
func (f *Frontend) PutFile(ctx context.Context, app, sha256 string, offset int64, data []byte) (int64, error) {
	return f.applications.PutFile(ctx, app, sha256, offset, data)
}

// Want takes what an application wants now.
func (f *Frontend) Want(ctx context.Context, w *api.Wants) (api.ApplicationReply, error) {
	return f.applications.Want(ctx, w)
}

// News waits for news of an application's executors.
func (f *Frontend) News(ctx context.Context, app string, incarnation, version int64, wait time.Duration) (api.News, error) {
	return f.applications.News(ctx, app, incarnation, version, wait)
}

// EndApplication ends an application.
func (f *Frontend) EndApplication(ctx context.Context, app string, incarnation int64) error {
	return f.applications.EndApplication(ctx, app, incarnation)
}

// FilePiece returns a piece of a file to a node.
func (f *Frontend) FilePiece(ctx context.Context, sha256 string, offset int64, limit int) (wire.Piece, error) {
	return f.applications.FilePiece(ctx, sha256, offset, limit)
}
