package frontend

import (
	"context"
	"fmt"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Explain returns why a job waits, or why it ended as it did, with counts and what
// would change it.
func (f *Frontend) Explain(ctx context.Context, name string) (*api.Explanation, error) {
	if e, ok := f.applications.Explain(name); ok {
		for _, v := range f.views(ctx, sched.NewJobID(f.cfg.ID, name), name) {
			e.Groups = append(e.Groups, v.Share)
		}
		return e, nil
	}
	s, err := f.look(ctx, "explaining", name)
	if err != nil {
		return nil, err
	}
	views := f.running(ctx, &s)
	id := sched.NewJobID(f.cfg.ID, name)
	e, err := ask(ctx, f, fmt.Sprintf("explaining job %q", name), func(o *owner) *api.Explanation { return o.reasons(id) })
	if err != nil {
		return nil, err
	}
	e.Status = s.status
	for i := range views {
		e.Groups = append(e.Groups, views[i].Share)
		e.Tasks = append(e.Tasks, views[i].Tasks...)
	}
	if s.status.State.Ended() {
		e.Why = append([]string{endSentence(&s.status)}, e.Why...)
		return e, nil
	}
	e.Why = append(f.owner.plan.waitSentences(&s.status, views), e.Why...)
	return e, nil
}

// explainedTasks bounds the tasks that an explanation lists.
const explainedTasks = 100

// reasons returns what the owner knows: how the class was found, which tasks are
// held here, what late binding has come to, and the failed tasks.
func (o *owner) reasons(id sched.JobID) *api.Explanation {
	e := &api.Explanation{Groups: []api.GroupShare{}}
	j := o.known(id)
	if j == nil {
		return e
	}
	if j.sub != nil {
		e.Why = append(e.Why, fmt.Sprintf("It is a %s job: %s.", j.sub.Class, j.sub.Why))
	}
	if v, _ := o.core.JobView(id, explainedTasks); v.Late {
		e.Why = append(e.Why, o.bindingSentences(j, &v)...)
		e.Tasks = o.boundTasks(&v)
	} else if v.Unbound > 0 {
		e.Why = append(e.Why, fmt.Sprintf("%d of its tasks are held at frontend %s: %s They go out as soon as one has.", v.Unbound, o.cfg.ID, o.plan.heldBecause(v.App)))
	}
	for t := range j.reports {
		if r := &j.reports[t]; r.failed && len(e.Tasks) < explainedTasks {
			e.Tasks = append(e.Tasks, api.TaskStatus{Task: t, Attempt: int(r.attempt), State: "failed", Node: o.nodes.name(r.node), Seconds: r.elapsed.Seconds(), Exit: int(r.exit)})
		}
	}
	return e
}

// heldBecause returns why the tasks of a job are placed nowhere.
func (p *plan) heldBecause(app string) string {
	work := "the built-in backends"
	if app != "" {
		work = fmt.Sprintf("application %q", app)
	}
	if p.rolled() {
		return "the central master cannot be reached, or has no live worker."
	}
	return fmt.Sprintf("no group that can be reached has a live worker for %s.", work)
}

func endSentence(s *api.Status) string {
	switch s.State {
	case api.StateCompleted:
		return fmt.Sprintf("It completed: all %d tasks succeeded, %.3f s after it was submitted.", s.Tasks, s.Seconds)
	case api.StateCancelled:
		return fmt.Sprintf("It was cancelled (%s) when %d of %d tasks had ended.", s.Reason, s.Completed+s.Failed, s.Tasks)
	default:
		return fmt.Sprintf("It failed: %d of %d tasks failed; the first because %s.", s.Failed, s.Tasks, s.Reason)
	}
}
