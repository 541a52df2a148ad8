package frontend

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pigeon-sched/pigeon/frontend/dispatch"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// listLimit is how many jobs a list shows when its caller names no number, and
// at most.
const (
	listDefault = 100
	listLimit   = 10_000
)

// listAsks is how many jobs of a list the masters are asked about at a time.
const listAsks = 16

// seen is what the owner shows of a job.
type seen struct {
	status api.Status
	app    string // that its tasks need a backend of, "" for none
	bound  int    // tasks that were handed to workers from here, and have no result yet
	known  bool
}

// see returns what is known of a job, zero when it knows nothing.
func (o *owner) see(id sched.JobID) seen {
	j := o.jobs.Known(id)
	if j == nil {
		return seen{}
	}
	s := seen{status: j.Status, app: j.App(), known: true}
	if v, _ := o.dispatch.JobView(id, 0); v.Late {
		s.bound = v.Bound
	}
	return s
}

// look returns what is known of a job, in memory or in the journal.
func (f *Frontend) look(ctx context.Context, tried, name string) (seen, error) {
	id := sched.NewJobID(f.cfg.ID, name)
	s, err := ask(ctx, f, fmt.Sprintf("%s job %q", tried, name), func(o *owner) seen { return o.see(id) })
	if err == nil && !s.known {
		s.status, err = f.endedStatus(id, name)
	}
	return s, err
}

// Status returns where a job stands; the masters are asked what runs of it.
func (f *Frontend) Status(ctx context.Context, name string) (api.Status, error) {
	s, err := f.look(ctx, "looking up", name)
	if err == nil {
		f.running(ctx, &s)
	}
	return s.status, err
}

// running completes the status of an unfinished job with what runs of it: what is
// bound from here, and what the masters say.
func (f *Frontend) running(ctx context.Context, s *seen) []wire.JobView {
	if s.status.State.Ended() {
		return nil
	}
	s.status.Running = s.bound
	views := f.owner.dispatch.JobViews(ctx, sched.NewJobID(f.cfg.ID, s.status.Job), s.app)
	for i := range views {
		s.status.Running += views[i].Share.Running
	}
	if s.status.Running > 0 || s.status.Completed+s.status.Failed > 0 {
		s.status.State = api.StateRunning
	}
	return views
}

// List returns the newest jobs first. All masters together are asked for no longer
// than dispatch.QueryTimeout; what one does not answer in time is shown as not running.
func (f *Frontend) List(ctx context.Context, limit int) ([]api.Status, error) {
	if limit <= 0 {
		limit = listDefault
	}
	list, err := ask(ctx, f, "listing jobs", (*owner).seeAll)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(list, func(a, b seen) int {
		return cmp.Or(cmp.Compare(b.status.Submitted, a.status.Submitted), strings.Compare(a.status.Job, b.status.Job))
	})
	list = list[:min(limit, listLimit, len(list))]
	ctx, cancel := context.WithTimeout(ctx, dispatch.QueryTimeout)
	defer cancel()
	places := make(chan struct{}, listAsks)
	var all sync.WaitGroup
	for i := range list {
		places <- struct{}{}
		all.Go(func() {
			defer func() { <-places }()
			f.running(ctx, &list[i])
		})
	}
	all.Wait()
	statuses := make([]api.Status, len(list))
	for i := range list {
		statuses[i] = list[i].status
	}
	return statuses, nil
}

func (o *owner) seeAll() []seen {
	all := o.jobs.All()
	list := make([]seen, len(all))
	for i, j := range all {
		list[i] = o.see(j.ID)
	}
	return list
}

// Wait answers when the job has ended or the time is up.
func (f *Frontend) Wait(ctx context.Context, name string, timeout time.Duration) (api.Status, error) {
	id, tried := sched.NewJobID(f.cfg.ID, name), fmt.Sprintf("waiting for the end of job %q", name)
	done := make(chan api.Status, 1)
	unknown := make(chan struct{})
	if err := f.post(func() {
		switch j := f.owner.jobs.Known(id); {
		case j == nil:
			close(unknown)
		case j.Ended:
			done <- j.Status
		default:
			j.WaitEnd(done)
		}
	}); err != nil {
		return api.Status{}, f.door.Refusal(err, tried)
	}
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case s := <-done:
		return s, nil
	case <-unknown:
		return f.endedStatus(id, name)
	case <-timer.C:
	case <-ctx.Done():
	case <-f.life.Stopping():
		return api.Status{}, f.door.Stopping(tried)
	}
	f.leaveEnd(id, done)
	return f.Status(context.WithoutCancel(ctx), name)
}

// leaveEnd takes a caller off a job that has waited long enough for its end.
func (f *Frontend) leaveEnd(id sched.JobID, done chan api.Status) {
	f.postUnbounded(func() {
		if j := f.owner.jobs.Get(id); j != nil {
			j.LeaveEnd(done)
		}
	})
}

// Nodes returns every group with its nodes; one whose master is away is shown
// empty.
func (f *Frontend) Nodes(ctx context.Context) ([]api.MasterState, error) {
	return f.owner.dispatch.MasterStates(ctx), nil
}
