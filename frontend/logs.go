package frontend

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/pigeon-sched/pigeon/frontend/attempts"
	"github.com/pigeon-sched/pigeon/internal/access"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/client"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// TaskLog returns a piece of the output of a task, from the node that ran it.
func (srv *schedulerService) TaskLog(ctx context.Context, r wire.LogRequest) (wire.LogChunk, error) {
	id := sched.NewJobID(srv.scope, r.Job)
	concernsJob(ctx, r.Job)
	where, err := srv.whereRan(ctx, id, &r)
	if err != nil {
		return wire.LogChunk{}, err
	}
	address, err := srv.nodeAddress(ctx, where)
	if err != nil {
		return wire.LogChunk{}, err
	}
	pool, err := srv.dialNode(where, address)
	if err != nil {
		return wire.LogChunk{}, err
	}
	defer func() { _ = pool.Close() }() // nothing follows

	attempt := sched.AttemptID{Job: id, Task: int32(r.Task), Attempt: int32(r.Attempt)} //nolint:gosec // checked by the edge
	c, err := wire.NewPeerClient(pool, srv.codec).AttemptLog(ctx, wire.AttemptLogRequest{Attempt: attempt, Stream: r.Stream, Offset: r.Offset, Limit: r.Limit})
	return c, nameTask(err, attempt, r.Job)
}

// nameTask returns a node's error with the task as users know it: nodes know the number of a job,
// not its id.
func nameTask(err error, id sched.AttemptID, job string) error {
	e, ok := errors.AsType[*api.Error](err)
	if !ok || !strings.HasPrefix(e.Subject, "attempt "+id.Job.String()) {
		return err
	}
	named := *e
	named.Subject = fmt.Sprintf("task %d of job %q", id.Task, job)
	return &named
}

// dialNode returns a connection to a node for one call.
func (srv *schedulerService) dialNode(name, address string) (*client.Pool, error) {
	return client.New(client.Options{Name: "node " + name, Address: address, MaxConns: 1, MaxFrame: wire.MaxBatchBytes, Security: srv.to(nodeRef(name))})
}

// ran is where a task ran.
type ran struct {
	tasks int // of the job; -1 when nothing is known of it
	app   string
	node  string    // that reported the task's result or was sent the task, "" while there is none
	ended bool      // there is a result
	state api.State // of the job
	// former is set when the job had ended before this process began, or is not in memory any more.
	former bool

	submitter string // of the job
}

func (o *owner) ran(id sched.JobID, task, attempt int) ran {
	j := o.jobs.Known(id)
	if j == nil {
		return ran{tasks: -1}
	}
	r := ran{tasks: j.Status.Tasks, app: j.App(), submitter: j.Status.Submitter, state: j.Status.State, former: j.Former()}
	if task >= 0 && task < r.tasks {
		if r.node, r.ended = o.attempts.Reporter(j, task); !r.ended && r.node == "" {
			r.node = o.dispatch.BoundTo(id, int32(task)) //nolint:gosec // below the number of tasks
		}
		if node := o.attempts.RanEarlier(j, task, attempt); node != "" {
			r.node = node
		}
	}
	return r
}

// whereRan returns the node that runs or ran the task.
func (srv *schedulerService) whereRan(ctx context.Context, id sched.JobID, r *wire.LogRequest) (node string, err error) {
	at, err := ask(ctx, srv, fmt.Sprintf("finding the node of task %d of job %q", r.Task, r.Job), func(o *owner) ran { return o.ran(id, r.Task, r.Attempt) })
	if err != nil {
		return "", err
	}
	if at.tasks < 0 {
		if at, err = srv.ranBefore(id, r, at); err != nil {
			return "", err
		}
	}
	if err := may(ctx, access.ReadOutput, at.submitter, r.Job, "reading its output"); err != nil && at.tasks >= 0 {
		return "", err
	}
	switch {
	case at.tasks < 0:
		return "", srv.unknown(ctx, r.Job, noJobWithLogs(r.Job))
	case r.Task < 0 || r.Task >= at.tasks:
		return "", noSuchTask(r, at.tasks)
	case at.node != "":
		return at.node, nil
	case at.ended:
		return "", nodeForgotten(r)
	}
	attempts, silent := srv.owner.dispatch.RunningAttempts(ctx, id, at.app, r.Task)
	for i := range attempts {
		if node == "" || attempts[i].Attempt == r.Attempt {
			node, _, _ = strings.Cut(attempts[i].Node, "/")
		}
	}
	switch {
	case node != "":
		return node, nil
	case at.state == api.StateCancelled && at.former:
		return "", nowhereStopped(r)
	case at.state.Ended():
		return "", neverRan(r, at.state)
	case len(silent) > 0:
		return "", mayRun(r, silent)
	}
	return "", notStarted(r)
}

// ranBefore returns where a task ran whose ended job is not in memory any more; at, if the
// journal does not know the job either.
func (srv *schedulerService) ranBefore(id sched.JobID, r *wire.LogRequest, at ran) (ran, error) {
	known, err := srv.journal.Lookup(id)
	if err != nil || known.Ended == nil {
		return at, err
	}
	e := known.Ended
	node, _ := attempts.NodeOf(e, r.Task, r.Attempt) // when it cannot be read, no node is known
	return ran{
		tasks: e.Status.Tasks, app: e.Status.App, node: node, submitter: e.Status.Submitter, state: e.Status.State, former: true,
		ended: e.Status.State != api.StateCancelled || len(e.Results) == 0, // without them, nothing is known of its tasks
	}, nil
}

// nodeAddress returns the address of a node, from the membership or else from the masters.
func (srv *schedulerService) nodeAddress(ctx context.Context, node string) (string, error) {
	address, err := ask(ctx, srv, "finding the address of node "+node, func(o *owner) string { return o.dispatch.NodeAddress(node) })
	if err != nil || address != "" {
		return address, err
	}
	states := srv.owner.dispatch.MasterStates(ctx)
	for i := range states {
		for _, n := range states[i].Nodes {
			if n.ID == node {
				return n.Address, nil
			}
		}
	}
	return "", nodeGone(node)
}
