package frontend

import (
	"cmp"
	"context"
	"math"
	"time"

	"github.com/pigeon-sched/pigeon/frontend/jobs"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// listDefault is how many jobs a list has when the caller sets no limit.
const listDefault = 100

// Query returns a page of the jobs that match a filter, newest first. A page without a filter
// takes one step of the owner goroutine and one call to each master, whatever the number of
// jobs; with one, steps of bounded length, until it is full, and for a filter of queued or
// running jobs one call more to each master, which returns the jobs that run. The masters have
// dispatch.QueryTimeout to answer; tasks of a master that does not answer in time are shown as
// not running.
func (srv *schedulerService) Query(ctx context.Context, limit int, after string, filter api.JobFilter) ([]api.Status, error) {
	if err := filter.Validate(); err != nil {
		return nil, err
	}
	limit = min(cmp.Or(max(limit, 0), listDefault), wire.MaxPage)
	wanted, most := selection{JobFilter: &filter, now: time.Now(), before: math.Inf(1)}, limit
	if filter.Unfinished() {
		if wanted.running = srv.owner.dispatch.RunningJobs(ctx); wanted.running == nil {
			most = wire.MaxPage // which of them run is known afterwards
		}
	}
	found := []api.Status{}
	for {
		p, err := srv.page(ctx, after, most, &wanted)
		if err != nil {
			return nil, err
		}
		srv.runningAll(ctx, p.jobs)
		for i := range p.jobs {
			// It may have begun to run since it was selected.
			if s := p.jobs[i].status; filter.HasState(s.State) && len(found) < limit {
				found = append(found, shown(ctx, s))
			}
		}
		if after = p.last; len(found) == limit || after == "" {
			return found, nil
		}
	}
}

// List returns a page of all jobs, newest first.
func (srv *schedulerService) List(ctx context.Context, limit int, after string) ([]api.Status, error) {
	return srv.Query(ctx, limit, after, api.JobFilter{})
}

// selection describes the jobs that a list is to have.
type selection struct {
	*api.JobFilter
	now     time.Time
	running map[sched.JobID]struct{} // at masters; nil when that does not count or is not known
	before  float64                  // when they were submitted, in Unix seconds; +Inf: at any time
}

// has reports whether the list is to have a job, or may be when it is not known which jobs run.
func (s *selection) has(o *owner, j *jobs.Job) bool {
	if j.Status.Submitted >= s.before || !s.MayMatch(&j.Status, s.now) {
		return false
	}
	if s.running == nil || j.Status.State.Ended() {
		return true
	}
	_, runs := s.running[j.ID]
	if runs || j.Status.Completed+j.Status.Failed > 0 || o.dispatch.Bound(j.ID) > 0 {
		return s.HasState(api.StateRunning)
	}
	return s.HasState(j.Status.State)
}

// jobPage is some of the jobs that a list may have.
type jobPage struct {
	jobs  []jobSummary
	last  string // the job to continue after, "" at the end
	known bool   // the job after which it begins is known
}

// page returns the next jobs that a list may have. The job after which they come may have left
// memory since the page before: then they are those that were submitted before it, as the journal
// has that.
func (srv *schedulerService) page(ctx context.Context, after string, most int, wanted *selection) (jobPage, error) {
	p, err := ask(ctx, srv, "listing jobs", func(o *owner) jobPage { return o.page(after, most, wanted) })
	if err != nil || p.known {
		return p, err
	}
	known, err := srv.journal.Lookup(sched.NewJobID(srv.scope, after))
	if err != nil {
		return jobPage{}, err
	}
	if known.Ended == nil {
		return jobPage{}, noSuchPage(after, srv.cfg.ID)
	}
	wanted.before = min(wanted.before, known.Ended.Status.Submitted)
	return srv.page(ctx, "", most, wanted)
}

func (o *owner) page(after string, most int, wanted *selection) (p jobPage) {
	var last sched.JobID
	if after != "" {
		last = sched.NewJobID(o.scope, after)
	}
	found := o.jobs.Page(last, most, func(j *jobs.Job) bool { return wanted.has(o, j) })
	p.known = found.Known
	p.jobs = make([]jobSummary, len(found.Jobs))
	for i, j := range found.Jobs {
		p.jobs[i] = o.summary(j.ID)
	}
	if found.Last != nil {
		p.last = found.Last.Status.Job
	}
	return p
}

// runningAll adds the running tasks to the statuses of those jobs that are unfinished.
func (srv *schedulerService) runningAll(ctx context.Context, list []jobSummary) {
	var unfinished []*jobSummary
	var ids []sched.JobID
	for i := range list {
		if s := &list[i]; !s.status.State.Ended() {
			s.status.Running = s.bound
			unfinished, ids = append(unfinished, s), append(ids, s.id)
		}
	}
	for _, running := range srv.owner.dispatch.RunningTasks(ctx, ids) {
		for i, n := range running {
			unfinished[i].status.Running += int(n)
		}
	}
	for _, s := range unfinished {
		s.started()
	}
}
