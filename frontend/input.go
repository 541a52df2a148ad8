package frontend

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/pigeon-sched/pigeon/internal/access"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// nodeAnswer bounds how long a node may take to answer beyond the requested wait.
const nodeAnswer = 2 * time.Second

// TaskInput passes a piece of standard input to the task of a job, at the node that runs it.
func (srv *schedulerService) TaskInput(ctx context.Context, r wire.InputRequest) (wire.InputReply, error) {
	id := sched.NewJobID(srv.scope, r.Job)
	concernsJob(ctx, r.Job)
	at, err := srv.whereRuns(ctx, id, &r)
	if err != nil || at.ended {
		return wire.InputReply{Closed: true}, err
	}
	ctx, cancel := context.WithTimeout(ctx, r.Piece.Wait+nodeAnswer)
	defer cancel()
	address, err := srv.nodeAddress(ctx, at.node)
	if err != nil {
		return wire.InputReply{}, notYet(r.Job, err.Error()) // a lost one; the task is started elsewhere
	}
	pool, err := srv.dialNode(at.node, address)
	if err != nil {
		return wire.InputReply{}, err
	}
	defer func() { _ = pool.Close() }() // nothing follows
	attempt := sched.AttemptID{Job: id, Attempt: at.attempt}
	reply, err := wire.NewPeerClient(pool, srv.codec).AttemptInput(ctx, attempt, r.Piece)
	reply.Attempt, reply.Node = int(at.attempt), at.node
	return reply, nameTask(err, attempt, r.Job)
}

// inputTask is the task of a job that takes standard input.
type inputTask struct {
	known     bool // the frontend has the job
	takes     bool // the task takes input
	ended     bool // the job has ended
	app       string
	submitter string
	attempt   int32  // that counts
	node      string // that it was sent to, "" where a master decides that
}

func (o *owner) inputTask(id sched.JobID) inputTask {
	j := o.jobs.Known(id)
	if j == nil {
		return inputTask{}
	}
	t := inputTask{known: true, app: j.App(), submitter: j.Status.Submitter, ended: j.Submission == nil || j.Status.State.Ended()}
	if !t.ended {
		e := j.Submission.Request.Tasks[0].Payload.Exec
		t.takes, t.attempt, t.node = e != nil && e.Stdin, j.Attempt(0), o.dispatch.BoundTo(id, 0)
	}
	return t
}

// whereRuns returns the attempt that takes the input and its node: the node of the request, while
// the attempt is the same.
func (srv *schedulerService) whereRuns(ctx context.Context, id sched.JobID, r *wire.InputRequest) (inputTask, error) {
	at, err := ask(ctx, srv, fmt.Sprintf("finding the node of job %q", r.Job), func(o *owner) inputTask { return o.inputTask(id) })
	if err != nil {
		return at, err
	}
	if err := may(ctx, access.GiveInput, at.submitter, r.Job, "giving it standard input"); err != nil && at.known {
		return at, err
	}
	switch {
	case !at.known:
		return at, srv.unknown(ctx, r.Job, noJobForInput(r.Job))
	case at.ended:
		return at, nil
	case !at.takes:
		return at, takesNoInput(r.Job)
	}
	if r.Attempt == int(at.attempt) {
		at.node = cmp.Or(r.Node, at.node)
	}
	if at.node != "" {
		return at, nil
	}
	for _, v := range srv.owner.dispatch.JobViews(ctx, id, at.app) {
		for _, t := range v.Tasks {
			if t.Attempt == int(at.attempt) {
				at.node, _, _ = strings.Cut(t.Node, "/")
				return at, nil
			}
		}
	}
	return at, notYet(r.Job, "it has not started yet")
}
