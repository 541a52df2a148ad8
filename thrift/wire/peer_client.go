package wire

import (
	"context"

	"github.com/apache/thrift/lib/go/thrift"

	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/gen/peer"
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

// RunningTasks returns how many tasks of each of the jobs run in a master's group.
func (p *PeerClient) RunningTasks(ctx context.Context, jobs []sched.JobID) ([]int32, error) {
	n, err := invoke(ctx, p.caller, "asking a master for the running tasks of jobs", func(ctx context.Context, c thrift.TClient) ([]int32, error) {
		return peer.NewPeerServiceClient(c).RunningTasks(ctx, mapped(jobs, jobIDTo))
	})
	if err == nil && len(n) != len(jobs) {
		err = answerFor(len(n), len(jobs))
	}
	return n, err
}
