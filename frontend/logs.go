package frontend

import (
	"context"
	"fmt"
	"strings"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/client"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// TaskLog gives a piece of what a task wrote, from the node that ran it.
func (f *Frontend) TaskLog(ctx context.Context, r wire.LogRequest) (wire.LogChunk, error) {
	id := sched.NewJobID(f.cfg.ID, r.Job)
	where, err := f.whereRan(ctx, id, &r)
	if err != nil {
		return wire.LogChunk{}, err
	}
	address, err := f.nodeAddress(ctx, where)
	if err != nil {
		return wire.LogChunk{}, err
	}
	pool, err := client.New(client.Options{Name: "node " + where, Address: address, MaxConns: 1, MaxFrame: wire.MaxBatchBytes})
	if err != nil {
		return wire.LogChunk{}, err
	}
	defer func() { _ = pool.Close() }()
	return wire.NewPeerClient(pool, f.codec).AttemptLog(ctx, wire.AttemptLogRequest{
		Attempt: sched.AttemptID{Job: id, Task: int32(r.Task), Attempt: int32(r.Attempt)}, //nolint:gosec // checked by the edge
		Stream:  r.Stream, Offset: r.Offset, Limit: r.Limit,
	})
}

// whereRan gives the node that runs or ran the task.
func (f *Frontend) whereRan(ctx context.Context, id sched.JobID, r *wire.LogRequest) (node string, err error) {
	done := make(chan struct{})
	tasks, app := -1, ""
	if err := f.post(func() {
		defer close(done)
		j := f.owner.jobs[id]
		if j == nil {
			return
		}
		tasks = len(j.reports)
		if j.sub != nil {
			app = needs(&j.sub.Request)
		}
		if r.Task >= 0 && r.Task < tasks {
			node = f.owner.nodes.name(j.reports[r.Task].node)
		}
	}); err != nil {
		return "", f.busy(err)
	}
	select {
	case <-done:
	case <-ctx.Done():
		return "", f.late("finding its node", r.Job)
	}
	switch {
	case tasks < 0:
		return "", &api.Error{Problem: api.NotFound, What: "no such job, or its logs are gone", Subject: fmt.Sprintf("job %q", r.Job), Tried: "finding its node", Next: "check the id with `pigeon status`"}
	case r.Task < 0 || r.Task >= tasks:
		return "", &api.Error{Problem: api.NotFound, What: fmt.Sprintf("it has tasks 0 to %d, not %d", tasks-1, r.Task), Subject: fmt.Sprintf("job %q", r.Job), Next: "name one of these"}
	case node != "":
		return node, nil
	}
	for _, v := range f.views(ctx, id, app) {
		for _, t := range v.Tasks {
			if t.Task == r.Task {
				node, _, _ = strings.Cut(t.Node, "/")
				return node, nil
			}
		}
	}
	return "", &api.Error{Problem: api.NotReady, What: "it has not started yet", Subject: fmt.Sprintf("task %d of job %q", r.Task, r.Job), Next: "try again; `pigeon explain` tells what it waits for"}
}

func (f *Frontend) nodeAddress(ctx context.Context, node string) (string, error) {
	states, err := f.Nodes(ctx)
	if err != nil {
		return "", err
	}
	for i := range states {
		for _, n := range states[i].Nodes {
			if n.ID == node {
				return n.Address, nil
			}
		}
	}
	return "", &api.Error{Problem: api.NotFound, What: "it is not registered with any master now", Subject: fmt.Sprintf("node %q", node), Tried: "reading a log that it keeps", Next: "start its node monitor again, or look into its work folder"}
}
