package frontend

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/pigeon-sched/pigeon/frontend/attempts"
	"github.com/pigeon-sched/pigeon/frontend/jobs"
	"github.com/pigeon-sched/pigeon/frontend/journal"
	"github.com/pigeon-sched/pigeon/internal/access"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/internal/telemetry"
)

// unserved is why no grant reaches an application, although slots may be idle.
const unserved = "No slot serves it now: none of its executors is connected to its node and has room for a grant."

// Explain returns why a job waits, with counts and what would let it start sooner, or
// why it ended as it did.
func (srv *schedulerService) Explain(ctx context.Context, name string) (*api.Explanation, error) {
	const tried = "explaining it"
	concernsJob(ctx, name)
	if e, ok := srv.applications.Explain(name); ok {
		if err := may(ctx, access.SeeJob, e.Status.Submitter, name, tried); err != nil {
			return nil, err
		}
		for _, v := range srv.owner.dispatch.JobViews(ctx, sched.NewJobID(srv.scope, name), name) {
			e.Groups = append(e.Groups, v.Share)
		}
		if e.Status.Tasks > 0 && len(e.Groups) > 0 && !slices.ContainsFunc(e.Groups, func(g api.GroupShare) bool { return g.Serving > 0 }) {
			e.Why = append(e.Why, unserved)
		}
		return e, nil
	}
	s, err := srv.lookUp(ctx, "explaining", name)
	if err != nil {
		if e := srv.explainBackends(ctx, name); e != nil {
			return e, nil
		}
		return nil, err
	}
	if err := may(ctx, access.SeeJob, s.status.Submitter, name, tried); err != nil {
		return nil, err
	}
	if s.former != nil {
		return srv.explainFormer(s.former), nil
	}
	views := srv.running(ctx, &s)
	id := sched.NewJobID(srv.scope, name)
	e, err := ask(ctx, srv, fmt.Sprintf("explaining job %q", name), func(o *owner) reasons { return o.reasons(id) })
	if err != nil {
		return nil, err
	}
	if e.gone || e.ended && !s.status.State.Ended() { // while the masters were asked: what they answered is over
		return srv.Explain(ctx, name)
	}
	e.Status, e.TraceURL = s.status, srv.cfg.traceURL(e.Trace)
	var waits []string
	switch {
	case s.status.State == api.StateHeld:
		waits = []string{"It is " + s.status.Reason + "."}
	case !s.status.State.Ended():
		waits = srv.owner.dispatch.WaitSentences(&s.status, e.class, views)
		if len(waits) == 1 && e.unreported(&s.status) {
			waits = append(waits, unreported)
		}
	}
	if owner := jobs.OwnerSentence(&s.status); owner != "" {
		e.Why = append(e.Why, owner)
	}
	for i := range views {
		e.Groups = append(e.Groups, views[i].Share)
		e.Tasks = append(e.Tasks, views[i].Tasks...)
	}
	if s.status.State.Ended() {
		e.Failed = e.failed
		e.Why = append([]string{jobs.EndSentence(&s.status)}, e.Why...)
		return e.Explanation, nil
	}
	e.Why = append(waits, e.Why...)
	e.Why = append(e.Why, drainSentences(srv.owner.dispatch.MasterStates(ctx))...)
	explainShares(e.Explanation, srv.owner.dispatch.GroupOwners(ctx), views)
	return e.Explanation, nil
}

// explainBackends explains an application whose backends have registered at nodes themselves; nil
// where no node that is up has any. Its jobs are explained by their own names.
func (srv *schedulerService) explainBackends(ctx context.Context, app string) *api.Explanation {
	var at []string
	for _, g := range srv.owner.dispatch.MasterStates(ctx) {
		for i := range g.Nodes {
			if slices.Contains(g.Nodes[i].Apps, app) {
				at = append(at, g.Nodes[i].ID)
			}
		}
	}
	if app == "" || len(at) == 0 {
		return nil
	}
	e := &api.Explanation{Status: api.Status{Job: app, App: app, State: api.StateRunning}, Groups: []api.GroupShare{}}
	serving, idle := 0, 0
	for _, v := range srv.owner.dispatch.JobViews(ctx, sched.NewJobID(srv.scope, app), app) {
		e.Groups = append(e.Groups, v.Share)
		serving, idle = serving+v.Share.Serving, idle+v.Share.IdleGeneral+v.Share.IdleReserve
	}
	e.Why = []string{fmt.Sprintf("It is an application, and no job: its backends serve %s of %s (%s), of which %s. 'pigeon status' lists its jobs, and 'pigeon explain JOB' explains one.",
		sched.Count(serving, "slot", "slots"), sched.Count(len(at), "node", "nodes"), listed(at), sched.Count(idle, "is idle", "are idle"))}
	return e
}

// listed joins the first few names.
func listed(names []string) string {
	const most = 5
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}

// explainFormer explains an ended job that only the journal still has.
func (srv *schedulerService) explainFormer(former *journal.Ended) *api.Explanation {
	s := &former.Status
	e := &api.Explanation{Status: *s, Groups: []api.GroupShare{}, Why: []string{jobs.EndSentence(s)}, Trace: telemetry.Carrier(former.Trace).TraceID()}
	e.TraceURL = srv.cfg.traceURL(e.Trace)
	if owner := jobs.OwnerSentence(s); owner != "" {
		e.Why = append(e.Why, owner)
	}
	if attempts.ExplainFormer(former, e) != nil {
		e.Why = append(e.Why, "Some of what the journal keeps of its tasks cannot be read.")
	}
	return e
}

// reasons are what the owner goroutine knows of why a job waits.
type reasons struct {
	*api.Explanation
	class  sched.Class // of the job now
	here   bool        // some of its tasks are held here or bound from here
	ended  bool        // the job
	failed string      // its tasks that failed, once it has ended
	gone   bool        // the job has left memory: the journal has what is left of it
}

// unreported is the reason while masters and nodes have not reported about a job.
const unreported = "No daemon has reported yet whether its tasks run or wait: this frontend or a master started a moment ago, and first hears from the nodes what they run, for a second or two."

// unreported reports whether it is not known of any task of an unfinished job where it is, when its
// masters hold none.
func (r reasons) unreported(s *api.Status) bool { return !r.here && s.Running == 0 }

// reasons returns how the class of a job was found, which of its tasks are held here or
// bound from here, and the failed tasks.
func (o *owner) reasons(id sched.JobID) reasons {
	j := o.jobs.Known(id)
	if j == nil {
		return reasons{gone: true}
	}
	e := &api.Explanation{Groups: []api.GroupShare{}}
	e.Trace = o.traces.ID(j)
	if sentence := j.ClassSentence(); sentence != "" {
		e.Why, e.ClassReason = append(e.Why, sentence), j.Submission.Why
	}
	var why []string
	why, e.Tasks = o.dispatch.Explain(id, attempts.Explained)
	e.Why = append(e.Why, why...)
	o.attempts.Explain(j, e)
	r := reasons{Explanation: e, class: j.Class(), here: len(why) > 0, ended: j.Status.State.Ended()}
	if r.ended {
		r.failed = o.attempts.FailedSet(j)
	}
	return r
}
