package frontend

import (
	"context"
	"fmt"
	"time"

	"github.com/pigeon-sched/pigeon/frontend/journal"
	"github.com/pigeon-sched/pigeon/internal/access"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/identity"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// jobSummary is the state of a job from which its status is shown.
type jobSummary struct {
	id     sched.JobID
	status api.Status
	app    string // the application whose backends its tasks need, "" for none
	bound  int    // tasks that this frontend launched without a master and that have no result yet
	known  bool
	former *journal.Ended // of a job that only the journal has, nil for any other
}

// summary returns the summary of a job in memory, the zero one for an unknown job.
func (o *owner) summary(id sched.JobID) jobSummary {
	j := o.jobs.Known(id)
	if j == nil {
		return jobSummary{}
	}
	return jobSummary{id: id, status: j.Status, app: j.App(), bound: o.dispatch.Bound(id), known: true}
}

// lookUp returns the summary of a job, from memory or from the journal.
func (srv *schedulerService) lookUp(ctx context.Context, tried, name string) (jobSummary, error) {
	id := sched.NewJobID(srv.scope, name)
	s, err := ask(ctx, srv, fmt.Sprintf("%s job %q", tried, name), func(o *owner) jobSummary { return o.summary(id) })
	if err == nil && !s.known {
		if s.former, err = srv.former(ctx, id, name); err == nil {
			s.status = s.former.Status
		}
	}
	return s, err
}

// Status returns the status of a job; the masters are queried for its running tasks.
func (srv *schedulerService) Status(ctx context.Context, name string) (api.Status, error) {
	s, err := srv.lookUp(ctx, "looking up", name)
	if err == nil {
		srv.running(ctx, &s)
	}
	return shown(ctx, s.status), err
}

// running adds the running tasks to the status of an unfinished job: those bound from
// here and those that the masters report.
func (srv *schedulerService) running(ctx context.Context, s *jobSummary) []wire.JobView {
	if s.status.State.Ended() {
		return nil
	}
	s.status.Running = s.bound
	views := srv.owner.dispatch.JobViews(ctx, sched.NewJobID(srv.scope, s.status.Job), s.app)
	for i := range views {
		s.status.Running += views[i].Share.Running
	}
	s.started()
	return views
}

// started sets the state of an unfinished job with a task that runs or has ended.
func (s *jobSummary) started() {
	if s.status.Running > 0 || s.status.Completed+s.status.Failed > 0 {
		s.status.State = api.StateRunning
	}
}

// Wait returns the status of a job when the job has ended or the timeout has passed.
func (srv *schedulerService) Wait(ctx context.Context, name string, timeout time.Duration) (api.Status, error) {
	id, tried := sched.NewJobID(srv.scope, name), fmt.Sprintf("waiting for the end of job %q", name)
	done := make(chan api.Status, 1)
	unknown := make(chan struct{})
	if err := srv.mailbox.Post(func() {
		switch j := srv.owner.jobs.Known(id); {
		case j == nil:
			close(unknown)
		case j.Ended:
			done <- j.Status
		default:
			j.WaitEnd(done)
		}
	}); err != nil {
		return api.Status{}, srv.mailbox.Refusal(err, tried)
	}
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case s := <-done:
		return shown(ctx, s), nil
	case <-unknown:
		s, err := srv.endedStatus(ctx, id, name)
		return shown(ctx, s), err
	case <-timer.C:
	case <-ctx.Done():
	case <-srv.stopping:
		return api.Status{}, srv.mailbox.Stopping(tried)
	}
	srv.stopWaiting(id, done)
	return srv.Status(context.WithoutCancel(ctx), name)
}

// stopWaiting removes a caller that no longer waits for the end of a job.
func (srv *schedulerService) stopWaiting(id sched.JobID, done chan api.Status) {
	_ = srv.loop.PostUnbounded(func() { // a stopped daemon has no callers
		if j := srv.owner.jobs.Get(id); j != nil {
			j.StopWaiting(done)
		}
	})
}

// Cancel ends a job at once: its queued tasks are dropped and its running tasks are
// killed. Cancelling a job that has ended changes nothing.
func (srv *schedulerService) Cancel(ctx context.Context, name string) (api.Status, error) {
	p := identity.From(ctx)
	concernsJob(ctx, name)
	if submitter, ok := srv.applications.Submitter(name); ok {
		return srv.cancelApplication(ctx, name, submitter)
	}
	id, tried := sched.NewJobID(srv.scope, name), fmt.Sprintf("cancelling job %q", name)
	done, refused := make(chan api.Status, 1), make(chan error, 1)
	if err := srv.mailbox.Post(func() {
		j := srv.owner.jobs.Known(id)
		switch {
		case j == nil:
			close(done)
		case !access.Can(p, access.EndJob, j.Status.Submitter):
			refused <- may(ctx, access.EndJob, j.Status.Submitter, name, "cancelling it")
		case j.Ended:
			done <- j.Status
		default:
			j.WaitEnd(done)
			srv.owner.cancel(j, cancelReason(p, j.Status.Submitter))
		}
	}); err != nil {
		return api.Status{}, srv.mailbox.Refusal(err, tried)
	}
	select {
	case s, known := <-done:
		if !known {
			s, err := srv.endedStatus(ctx, id, name)
			return shown(ctx, s), err
		}
		return s, nil
	case err := <-refused:
		return api.Status{}, err
	case <-ctx.Done():
		return api.Status{}, srv.mailbox.Late(tried)
	}
}

// cancelApplication ends an application with executors of its own.
func (srv *schedulerService) cancelApplication(ctx context.Context, name, submitter string) (api.Status, error) {
	if err := may(ctx, access.EndJob, submitter, name, "cancelling it"); err != nil {
		return api.Status{}, err
	}
	v, _ := srv.applications.Cancel(name, cancelReason(identity.From(ctx), submitter))
	return api.Status{Job: name, App: name, State: api.StateCancelled, Running: len(v.Executors), Submitter: submitter}, nil
}

// endedStatus returns the status of a job that only the journal has.
func (srv *schedulerService) endedStatus(ctx context.Context, id sched.JobID, name string) (api.Status, error) {
	e, err := srv.former(ctx, id, name)
	if err != nil {
		return api.Status{}, err
	}
	return e.Status, nil
}

// former looks a job up in the journal, which keeps ended jobs longer than memory.
func (srv *schedulerService) former(ctx context.Context, id sched.JobID, name string) (*journal.Ended, error) {
	known, err := srv.journal.Lookup(id)
	if err != nil {
		return nil, err
	}
	if known.Ended == nil {
		return nil, srv.unknown(ctx, name, noSuchJob(name, srv.cfg.Retention, srv.cfg.ID))
	}
	return known.Ended, nil
}

// Identify returns which frontend this is.
func (srv *schedulerService) Identify(context.Context) (api.FrontendIdentity, error) {
	stage := srv.cfg.StageJobBytes
	if stage == 0 { // which would not say it
		stage = -1
	}
	return api.FrontendIdentity{Name: srv.cfg.ID, SharedKeys: srv.keys != nil, Page: srv.pageURL, SharedProcess: true, StageBytes: stage}, nil
}

// Nodes returns every group with its nodes. A group whose master cannot be reached has
// none.
func (srv *schedulerService) Nodes(ctx context.Context) ([]api.MasterState, error) {
	states := srv.owner.dispatch.MasterStates(ctx)
	srv.addNATSFaults(states)
	return states, nil
}
