package wire

import (
	"context"
	"fmt"
	"time"

	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/gen/peer"
	"github.com/pigeon-sched/pigeon/thrift/gen/published"
)

// MaxInput and MaxInputWait bound the data of one [Input], and how long it may wait.
const (
	MaxInput     = 64 << 10 // bytes
	MaxInputWait = 10 * time.Second
)

// Input is a piece of the standard input of a task.
type Input struct {
	Offset int64         // of its first byte, in bytes
	Data   []byte        // MaxInput bytes at most
	Last   bool          // the input ends with them
	Wait   time.Duration // how long the answer may take while there is no room for it
}

// check returns why the piece can never be taken.
func (p *Input) check() error {
	var what string
	switch {
	case p.Offset < 0:
		what = fmt.Sprintf("it begins at byte %d", p.Offset)
	case len(p.Data) > MaxInput:
		what = fmt.Sprintf("it has %d bytes, more than the limit of %d", len(p.Data), MaxInput)
	case p.Wait < 0 || p.Wait > MaxInputWait:
		what = fmt.Sprintf("it is to wait for %v, which is not within 0 and %v", p.Wait, MaxInputWait)
	default:
		return nil
	}
	return badInput(what)
}

// InputRequest gives a piece of standard input to the task of a job.
type InputRequest struct {
	Job     string
	Attempt int    // 0: the one that runs
	Node    string // where that runs, according to the last reply; "" for any node
	Piece   Input
}

// InputReply is what the task has been given so far.
type InputReply struct {
	UpTo    int64  // bytes in all, where the next piece begins
	Closed  bool   // it takes no more: it reads no more, or had the end
	Attempt int    // that runs
	Node    string // where it runs
}

// InputReceiver takes the standard input of attempts; a node monitor is one.
type InputReceiver interface {
	AttemptInput(ctx context.Context, id sched.AttemptID, piece Input) (InputReply, error)
}

// TaskInput implements published.SchedulerService.
func (h schedulerHandler) TaskInput(ctx context.Context, job string, attempt int32, node string, input *published.TInput) (*published.TInputReply, error) {
	piece := inputFrom(input)
	if err := piece.check(); err != nil {
		return nil, refusal(err)
	}
	r, err := h.Scheduler.TaskInput(ctx, InputRequest{Job: job, Attempt: int(attempt), Node: node, Piece: piece})
	return inputReplyTo(r), refusal(err)
}

// TaskInput implements peer.PeerService.
func (h peerHandler) TaskInput(ctx context.Context, attempt *peer.TAttempt, input *published.TInput) (*published.TInputReply, error) {
	if h.ports.Input == nil {
		return nil, refusal(notHere("node monitor"))
	}
	piece := inputFrom(input)
	if err := piece.check(); err != nil {
		return nil, refusal(err)
	}
	r, err := h.ports.Input.AttemptInput(ctx, attemptIDFrom(attempt), piece)
	return inputReplyTo(r), refusal(err)
}
