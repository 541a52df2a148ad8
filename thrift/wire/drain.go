package wire

import (
	"context"
	"time"

	"github.com/pigeon-sched/pigeon/thrift/gen/peer"
)

// DrainReceiver takes nothing new while it drains; a node monitor is one.
type DrainReceiver interface {
	// Drain begins or ends a drain. Repeated, it changes the deadline.
	Drain(ctx context.Context, o DrainOrder) (DrainReply, error)
}

// DrainOrder makes a node drain, or resume.
type DrainOrder struct {
	Resume   bool
	Deadline time.Duration // after which what still runs is given back; 0: none
	Kill     bool          // at once
}

// DrainReply is the state of the node after it.
type DrainReply struct {
	State   string // as [api.Node] has it
	Running int    // attempts that are there
	Results int    // that no frontend has acknowledged
	Reason  string // why it takes nothing new whether it drains or not
}

func (h peerHandler) Drain(ctx context.Context, o *peer.TDrainOrder) (*peer.TDrainReply, error) {
	if h.ports.Drain == nil {
		return nil, refusal(notHere("node monitor"))
	}
	order := drainOrderFrom(o)
	order.Deadline = max(order.Deadline, 0)
	r, err := h.ports.Drain.Drain(ctx, order)
	return drainReplyTo(r), refusal(err)
}
