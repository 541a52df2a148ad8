package wire

import (
	"context"
	"fmt"

	"github.com/apache/thrift/lib/go/thrift"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/gen/peer"
	"github.com/pigeon-sched/pigeon/thrift/gen/published"
)

// PeerClient calls another daemon.
type PeerClient struct {
	caller Caller
	codec  *Codec
}

var (
	_ BatchReceiver    = (*PeerClient)(nil)
	_ ReportReceiver   = (*PeerClient)(nil)
	_ Registrar        = (*PeerClient)(nil)
	_ GroupViewer      = (*PeerClient)(nil)
	_ MembershipSource = (*PeerClient)(nil)
	_ LogReader        = (*PeerClient)(nil)
	_ DrainReceiver    = (*PeerClient)(nil)
)

// NewPeerClient calls the daemon that the caller's connections lead to.
func NewPeerClient(c Caller, codec *Codec) *PeerClient { return &PeerClient{caller: c, codec: codec} }

// Deliver sends messages to the daemon's cores.
func (p *PeerClient) Deliver(ctx context.Context, b *Batch) (BatchReply, error) {
	t, err := p.codec.batchTo(b)
	if err != nil {
		return BatchReply{}, err
	}
	r, err := invoke(ctx, p.caller, "delivering messages to "+b.Receiver.String(), func(ctx context.Context, c thrift.TClient) (*peer.TBatchReply, error) {
		return peer.NewPeerServiceClient(c).Deliver(ctx, t)
	})
	return batchReplyFrom(r), err
}

// Reports repeats reports to a frontend.
func (p *PeerClient) Reports(ctx context.Context, b *Batch) (ReportsReply, error) {
	t, err := p.codec.batchTo(b)
	if err != nil {
		return ReportsReply{}, err
	}
	r, err := invoke(ctx, p.caller, "reporting ended attempts to "+b.Receiver.String(), func(ctx context.Context, c thrift.TClient) (*peer.TReportsReply, error) {
		return peer.NewPeerServiceClient(c).Reports(ctx, t)
	})
	return reportsReplyFrom(r), err
}

// Hello registers this daemon with a master.
func (p *PeerClient) Hello(ctx context.Context, h *Hello) (HelloReply, error) {
	r, err := invoke(ctx, p.caller, "registering with a master", func(ctx context.Context, c thrift.TClient) (*peer.THelloReply, error) {
		return peer.NewPeerServiceClient(c).Hello(ctx, helloTo(*h))
	})
	if err != nil {
		return HelloReply{}, err
	}
	if err := checkRef(r.Sender); err != nil {
		return HelloReply{}, refusePeer(Ref{}, err.Error())
	}
	r.Departed = readable(r.Departed)
	return helloReplyFrom(r), nil
}

// Snapshot sends a node's heartbeat to its master.
func (p *PeerClient) Snapshot(ctx context.Context, s *Snapshot) (SnapshotReply, error) {
	r, err := invoke(ctx, p.caller, "sending a heartbeat to a master", func(ctx context.Context, c thrift.TClient) (*peer.TSnapshotReply, error) {
		return peer.NewPeerServiceClient(c).Snapshot(ctx, snapshotTo(*s))
	})
	return snapshotReplyFrom(r), err
}

// JobView returns a master's state of a job.
func (p *PeerClient) JobView(ctx context.Context, job sched.JobID, app string) (JobView, error) {
	v, err := invoke(ctx, p.caller, "asking a master about a job", func(ctx context.Context, c thrift.TClient) (*peer.TJobView, error) {
		return peer.NewPeerServiceClient(c).JobView(ctx, jobIDTo(job), app)
	})
	return jobViewFrom(v), err
}

// RunningAttempts returns the attempts of a task that run or are suspended in a master's group.
func (p *PeerClient) RunningAttempts(ctx context.Context, job sched.JobID, task int32) ([]api.TaskStatus, error) {
	list, err := invoke(ctx, p.caller, "asking a master where a task runs", func(ctx context.Context, c thrift.TClient) ([]*published.TTaskStatus, error) {
		return peer.NewPeerServiceClient(c).RunningAttempts(ctx, jobIDTo(job), task)
	})
	return mapped(list, taskStatusFrom), err
}

// RunningTasks returns how many tasks of each of the jobs run in a master's group.
func (p *PeerClient) RunningTasks(ctx context.Context, jobs []sched.JobID) ([]int32, error) {
	n, err := invoke(ctx, p.caller, "asking a master for the running tasks of jobs", func(ctx context.Context, c thrift.TClient) ([]int32, error) {
		return peer.NewPeerServiceClient(c).RunningTasks(ctx, mapped(jobs, jobIDTo))
	})
	if err == nil && len(n) != len(jobs) {
		err = &api.Error{Problem: api.Internal, What: fmt.Sprintf("the master answered for %d of %d jobs", len(n), len(jobs)), Subject: "call between daemons", Next: "check that both sides run the same version"}
	}
	return n, err
}

// RunningJobs returns which jobs of a frontend have tasks that run in a master's group.
func (p *PeerClient) RunningJobs(ctx context.Context, frontend string) (RunningJobs, error) {
	r, err := invoke(ctx, p.caller, "asking a master which jobs run", func(ctx context.Context, c thrift.TClient) (*peer.TRunningJobs, error) {
		return peer.NewPeerServiceClient(c).RunningJobs(ctx, frontend)
	})
	return runningJobsFrom(r), err
}

// MasterState returns a master's view of its group.
func (p *PeerClient) MasterState(ctx context.Context) (api.MasterState, error) {
	s, err := invoke(ctx, p.caller, "asking a master about its group", func(ctx context.Context, c thrift.TClient) (*published.TMasterState, error) {
		return peer.NewPeerServiceClient(c).MasterState(ctx)
	})
	return masterStateFrom(s), err
}

// ForgetNode makes a master stop showing a node or frontend that is not registered any more.
func (p *PeerClient) ForgetNode(ctx context.Context, name string) (bool, error) {
	return invoke(ctx, p.caller, "having a master forget a node", func(ctx context.Context, c thrift.TClient) (bool, error) {
		return peer.NewPeerServiceClient(c).ForgetNode(ctx, name)
	})
}

// GroupOwners returns how the slots of a master's group are shared between owners.
func (p *PeerClient) GroupOwners(ctx context.Context) (api.GroupOwners, error) {
	s, err := invoke(ctx, p.caller, "asking a master about owners", func(ctx context.Context, c thrift.TClient) (*published.TGroupOwners, error) {
		return peer.NewPeerServiceClient(c).GroupOwners(ctx)
	})
	return groupOwnersFrom(s), err
}

// AttemptLog returns a part of an attempt's output from a node.
func (p *PeerClient) AttemptLog(ctx context.Context, r AttemptLogRequest) (LogChunk, error) {
	t, err := invoke(ctx, p.caller, "reading an attempt's output", func(ctx context.Context, c thrift.TClient) (*published.TLogChunk, error) {
		return peer.NewPeerServiceClient(c).TaskLog(ctx, attemptIDTo(r.Attempt), r.Stream, r.Offset, n32(r.Limit))
	})
	return logChunkFrom(t), err
}
