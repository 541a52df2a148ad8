package wire

import (
	"context"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/thrift/gen/peer"
)

// ExecutorManager runs executors of applications by the orders of frontends; a node
// monitor is one.
type ExecutorManager interface {
	OrderExecutors(ctx context.Context, o *Order) (OrderReply, error)
	// Holdings answers when they differ from those named by incarnation and version, or after the wait with the same. It renews the leases of the
	// applications that the node follows this frontend for.
	Holdings(ctx context.Context, frontend string, incarnation, version int64, wait time.Duration) (Holdings, error)
}

// FileKeeper serves the files of applications; a frontend is one.
type FileKeeper interface {
	FilePiece(ctx context.Context, sha256 string, offset int64, limit int) (Piece, error)
}

// Order is the complete state that a frontend wants of one application at one node.
type Order struct {
	Frontend    string
	Address     string // of the frontend, for daemons
	Tenure      int64  // counts the takeovers of the application; nodes follow the highest
	Sequence    int64  // of the orders of one tenure; the highest counts
	Application api.Application
	Executors   []string // the executors that should run
	Over        bool     // the application is over
}

// OrderReply names the frontend that the node follows now.
type OrderReply struct {
	Accepted    bool
	Tenure      int64
	Frontend    string
	Incarnation int64 // of the application that it holds
}

// Holdings lists the applications and executors of a node.
type Holdings struct {
	Incarnation  int64
	Version      int64
	Memory       int64 // MB for executors
	Used         int64 // MB
	Applications []HeldApplication
}

// HeldApplication describes one application at a node.
type HeldApplication struct {
	ID          string
	Incarnation int64
	Frontend    string
	Tenure      int64
	Sequence    int64
	Last        int // highest number of an executor that was ordered from the node
	Executors   []HeldExecutor
}

// HeldExecutor is an executor at a node, also one that has ended.
type HeldExecutor struct {
	State    api.ExecutorState
	Slots    int // it has or waits for
	Held     int // of them; without grants
	Ran      time.Duration
	Refused  bool // the node refused it, and it did not start
	Attached bool // it accepts grants
}

// Piece is a part of a file.
type Piece struct {
	Data []byte
	Size int64 // of the whole
}

func (h peerHandler) OrderExecutors(ctx context.Context, t *peer.TOrder) (*peer.TOrderReply, error) {
	if h.ports.Executors == nil {
		return nil, refusal(notHere("node monitor"))
	}
	o := orderFrom(t)
	if err := speaks(ctx, frontendOf(o.Frontend), "ordering executors"); err != nil {
		return nil, refusal(err)
	}
	if err := o.Application.Validate(); err != nil {
		return nil, refusal(err)
	}
	r, err := h.ports.Executors.OrderExecutors(ctx, &o)
	return orderReplyTo(r), refusal(err)
}

func (h peerHandler) Holdings(ctx context.Context, frontend string, incarnation, version int64, waitMillis int32) (*peer.THoldings, error) {
	if h.ports.Executors == nil {
		return nil, refusal(notHere("node monitor"))
	}
	if err := speaks(ctx, frontendOf(frontend), "asking for executors"); err != nil {
		return nil, refusal(err)
	}
	v, err := h.ports.Executors.Holdings(ctx, frontend, incarnation, version, time.Duration(waitMillis)*time.Millisecond)
	return holdingsTo(v), refusal(err)
}

var (
	_ ExecutorManager = (*PeerClient)(nil)
	_ FileKeeper      = (*PeerClient)(nil)
)
