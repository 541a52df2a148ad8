package frontend

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// askTimeout bounds a question to a master on the way to a status: one that is
// away is left out and shown as such.
const askTimeout = 500 * time.Millisecond

// listLimit is how many jobs a list shows when its caller names no number, and
// at most.
const (
	listDefault = 100
	listLimit   = 10_000
)

// look gives what the owner knows of a job; false when it knows nothing.
func (f *Frontend) look(ctx context.Context, name string) (s api.Status, app string, ok bool, err error) {
	id := sched.NewJobID(f.cfg.ID, name)
	done := make(chan struct{})
	if err := f.post(func() {
		defer close(done)
		if j := f.owner.jobs[id]; j != nil {
			s, ok = j.status, true
			if j.sub != nil {
				app = needs(&j.sub.Request)
			}
		}
	}); err != nil {
		return s, "", false, f.busy(err)
	}
	select {
	case <-done:
		return s, app, ok, nil
	case <-ctx.Done():
		return api.Status{}, "", false, f.late("looking it up", name)
	}
}

// Status tells where a job stands; the masters are asked what runs of it.
func (f *Frontend) Status(ctx context.Context, name string) (api.Status, error) {
	s, app, ok, err := f.look(ctx, name)
	if err != nil {
		return api.Status{}, err
	}
	if !ok {
		return f.endedStatus(sched.NewJobID(f.cfg.ID, name), name)
	}
	f.running(ctx, &s, app)
	return s, nil
}

// running completes the status of an unfinished job.
func (f *Frontend) running(ctx context.Context, s *api.Status, app string) []wire.JobView {
	if s.State.Ended() {
		return nil
	}
	views := f.views(ctx, sched.NewJobID(f.cfg.ID, s.Job), app)
	for i := range views {
		s.Running += views[i].Share.Running
	}
	if s.Running > 0 || s.Completed+s.Failed > 0 {
		s.State = api.StateRunning
	}
	return views
}

// views asks every master what it holds of a job, all at once.
func (f *Frontend) views(ctx context.Context, id sched.JobID, app string) []wire.JobView {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	views := make([]wire.JobView, len(f.masters))
	var all sync.WaitGroup
	for g, m := range f.masters {
		all.Go(func() {
			v, err := m.peer.JobView(ctx, id, app)
			if err != nil {
				v = wire.JobView{}
			}
			v.Share.Group, v.Share.Reachable = g, err == nil
			views[g] = v
		})
	}
	all.Wait()
	return views
}

// List gives the newest jobs first.
func (f *Frontend) List(ctx context.Context, limit int) ([]api.Status, error) {
	if limit <= 0 {
		limit = listDefault
	}
	limit = min(limit, listLimit)
	var list []api.Status
	done := make(chan struct{})
	if err := f.post(func() {
		defer close(done)
		for _, j := range f.owner.jobs {
			list = append(list, j.status)
		}
	}); err != nil {
		return nil, f.busy(err)
	}
	select {
	case <-done:
	case <-ctx.Done():
		return nil, f.late("listing jobs", "*")
	}
	slices.SortFunc(list, func(a, b api.Status) int {
		switch {
		case a.Submitted > b.Submitted:
			return -1
		case a.Submitted < b.Submitted:
			return 1
		}
		return strings.Compare(a.Job, b.Job)
	})
	list = list[:min(limit, len(list))]
	for i := range list {
		f.running(ctx, &list[i], list[i].App)
	}
	return list, nil
}

// Wait answers when the job has ended or the time is up.
func (f *Frontend) Wait(ctx context.Context, name string, timeout time.Duration) (api.Status, error) {
	id := sched.NewJobID(f.cfg.ID, name)
	done := make(chan api.Status, 1)
	unknown := make(chan struct{})
	if err := f.post(func() {
		switch j := f.owner.jobs[id]; {
		case j == nil:
			close(unknown)
		case j.ended:
			done <- j.status
		default:
			j.waiting = append(j.waiting, done)
		}
	}); err != nil {
		return api.Status{}, f.busy(err)
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
	}
	f.unwait(id, done)
	return f.Status(context.WithoutCancel(ctx), name)
}

// unwait takes a waiter that gave up off its job.
func (f *Frontend) unwait(id sched.JobID, done chan api.Status) {
	_ = f.urge(func() { // a stopping daemon has nobody waiting
		if j := f.owner.jobs[id]; j != nil {
			j.waiting = slices.DeleteFunc(j.waiting, func(w chan api.Status) bool { return w == done })
		}
	})
}

// Nodes gives every group with its nodes; one whose master is away is shown
// empty.
func (f *Frontend) Nodes(ctx context.Context) ([]api.MasterState, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	states := make([]api.MasterState, len(f.masters))
	var all sync.WaitGroup
	for g, m := range f.masters {
		all.Go(func() {
			s, err := m.peer.MasterState(ctx)
			if err != nil {
				s = api.MasterState{}
			}
			s.Group = g
			states[g] = s
		})
	}
	all.Wait()
	return states, nil
}
