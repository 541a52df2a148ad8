package frontend

import (
	"context"
	"fmt"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/ledger"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// Explain tells why a job waits, or why it ended as it did, with counts and what
// would change it.
func (f *Frontend) Explain(ctx context.Context, name string) (*api.Explanation, error) {
	s, err := f.look(ctx, "explaining it", name)
	if err != nil {
		return nil, err
	}
	views := f.running(ctx, &s)
	id := sched.NewJobID(f.cfg.ID, name)
	e, err := ask(ctx, f, "explaining it", name, func(o *owner) *api.Explanation { return o.reasons(id) })
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
	e.Why = append(waitSentences(&s.status, views), e.Why...)
	return e, nil
}

// explainedTasks bounds the tasks that an explanation lists.
const explainedTasks = 100

// reasons gives what the owner knows: how the class was found, which tasks are
// held here, and the failed tasks.
func (o *owner) reasons(id sched.JobID) *api.Explanation {
	e := &api.Explanation{Groups: []api.GroupShare{}}
	j := o.known(id)
	if j == nil {
		return e
	}
	if j.sub != nil {
		e.Why = append(e.Why, fmt.Sprintf("It is a %s job: %s.", j.sub.Class, j.sub.Why))
	}
	if l := o.core.Ledger().Job(id); l != nil && l.Unplaced > 0 {
		e.Why = append(e.Why, fmt.Sprintf("%d of its tasks are held at frontend %s: no group that can be reached has a live worker for %s. They go out as soon as one has.",
			l.Unplaced, o.cfg.ID, workFor(l)))
	}
	for t := range j.reports {
		if r := &j.reports[t]; r.failed && len(e.Tasks) < explainedTasks {
			e.Tasks = append(e.Tasks, api.TaskStatus{Task: t, Attempt: int(r.attempt), State: "failed", Node: o.nodes.name(r.node), Seconds: r.elapsed.Seconds(), Exit: int(r.exit)})
		}
	}
	return e
}

func workFor(l *ledger.Job) string {
	if l.App == "" {
		return "the built-in backends"
	}
	return fmt.Sprintf("application %q", l.App)
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

// waitSentences says what the groups hold of an unfinished job and what it waits
// for there.
func waitSentences(s *api.Status, views []wire.JobView) []string {
	var why []string
	queued := 0
	for i := range views {
		queued += views[i].Share.Queued
	}
	why = append(why, fmt.Sprintf("%d of %d tasks have ended, %d run, %d wait in queues.", s.Completed+s.Failed, s.Tasks, s.Running, queued))
	for i := range views {
		if g := &views[i].Share; !g.Reachable {
			why = append(why, fmt.Sprintf("The master of group %d cannot be reached; what it held is distributed again when it stays away.", g.Group))
		} else if g.Queued > 0 {
			why = append(why, groupSentence(s.Class, g))
		}
	}
	return why
}

func groupSentence(class string, g *api.GroupShare) string {
	if class == sched.Long.String() {
		return fmt.Sprintf("Group %d: %d of its tasks wait among %d long ones; long tasks run on general workers only, none of which is idle, and %d short tasks there may go first. More workers, or fewer short jobs, would start them sooner.",
			g.Group, g.Queued, g.AheadLong, g.AheadShort)
	}
	return fmt.Sprintf("Group %d: %d of its tasks wait among %d short ones, first come first served; all %d workers that serve it are busy. The oldest waits %.3f s.",
		g.Group, g.Queued, g.AheadShort, g.Serving, g.OldestWait)
}
