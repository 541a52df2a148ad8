package jobs

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/pigeon-sched/pigeon/client"
	"github.com/pigeon-sched/pigeon/cmd/pigeon/connect"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/delay"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

const (
	// inputWait is how long a node waits for room for a piece before it answers.
	inputWait = 5 * time.Second
	// inputProbe is how often the node is asked whether it still runs the attempt, while there is
	// nothing to be given to it.
	inputProbe = time.Second
	// The pause while the task does not run grows from one to the other.
	shortestInputPause, longestInputPause = 10 * time.Millisecond, 250 * time.Millisecond
)

// inputTaker takes the standard input of a job; it is a [client.Job].
type inputTaker interface {
	Input(ctx context.Context, attempt int, node string, piece wire.Input) (wire.InputReply, error)
}

// inputForwarder gives standard input to the task of a job, to each attempt from its beginning.
//
//	searching ──an attempt runs──▶ giving ──it takes no more──▶ closed
//	    ▲────────it runs there no more─────┴──────────────────────┘
//
// One goroutine uses it.
type inputForwarder struct {
	job     inputTaker
	in      stdinSource
	attempt int    // 0 while none is known to run
	node    string // where it runs
	upTo    int64  // bytes that it was given
	closed  bool   // it takes no more
}

// inputError is why standard input cannot be given to a task; the job must not go on without it.
type inputError struct{ cause error }

// Error implements error.
func (e *inputError) Error() string { return e.cause.Error() }

// Unwrap returns what happened.
func (e *inputError) Unwrap() error { return e.cause }

// forwardInput gives standard input to a job until stop is called. The context that it returns
// ends with an *inputError as its cause when that cannot be done.
func forwardInput(ctx context.Context, job *client.Job, in stdinSource) (_ context.Context, stop func()) {
	if in == nil {
		return ctx, func() {}
	}
	ctx, end := context.WithCancelCause(ctx)
	f := &inputForwarder{job: job.Another(), in: in}
	if err := f.give(ctx, wire.Input{}); err != nil { // a frontend of an earlier version refuses it
		end(&inputError{err})
	}
	var running sync.WaitGroup
	running.Go(func() {
		if err := f.run(ctx); err != nil {
			end(&inputError{err})
		}
	})
	return ctx, func() {
		end(nil)
		running.Wait()
	}
}

// inputFault returns why the input could not be given, nil when it could.
func inputFault(ctx context.Context) error {
	if e, failed := errors.AsType[*inputError](context.Cause(ctx)); failed {
		return e
	}
	return nil
}

// withoutInput cancels a job whose input could not be given, and returns the error.
func withoutInput(ctx context.Context, job *client.Job, why error) error {
	ctx, cancel := context.WithTimeout(ctx, connect.CancelTime)
	defer cancel()
	if _, err := job.Cancel(ctx); err != nil {
		return fmt.Errorf("job %s did not get its standard input, and could not be cancelled (%w; 'pigeon cancel %s' tries again): %w", job.ID, err, job.ID, why)
	}
	return fmt.Errorf("job %s did not get its standard input and is cancelled: %w", job.ID, why)
}

// run gives what there is until ctx ends. When all is given it goes on to look whether the
// attempt still runs: another one needs all of it again.
func (f *inputForwarder) run(ctx context.Context) error {
	pause := shortestInputPause
	for ctx.Err() == nil {
		piece, err := f.next(ctx)
		if err == nil && ctx.Err() == nil {
			err = f.give(ctx, piece)
		}
		if err != nil {
			return err
		}
		if f.attempt != 0 {
			pause = shortestInputPause
			continue
		}
		delay.For(ctx, pause)
		pause = min(2*pause, longestInputPause)
	}
	return nil
}

// next returns the next piece. An empty one asks how far the input is.
func (f *inputForwarder) next(ctx context.Context) (wire.Input, error) {
	piece := wire.Input{Offset: f.upTo, Wait: inputWait}
	switch {
	case f.attempt == 0:
		return piece, nil
	case f.closed:
		delay.For(ctx, inputProbe)
		return piece, nil
	}
	var err error
	if piece.Data, piece.Last, err = f.in.at(ctx, f.upTo, inputProbe); err != nil {
		return piece, fmt.Errorf("attempt %d on node %q: %w", f.attempt, f.node, err)
	}
	return piece, nil
}

// give gives a piece to the attempt, or finds out which one runs. The error is one that no
// repetition mends.
func (f *inputForwarder) give(ctx context.Context, piece wire.Input) error {
	r, err := f.job.Input(ctx, f.attempt, f.node, piece)
	if err != nil {
		f.attempt, f.node = 0, ""
		if ctx.Err() == nil && isRefusedInput(err) {
			return err
		}
		return nil // it does not run now, or nobody answers: who follows the job gives that up
	}
	f.attempt, f.node, f.upTo, f.closed = r.Attempt, r.Node, r.UpTo, r.Closed
	return nil
}

func isRefusedInput(err error) bool {
	return isAnswer(err) && client.HasProblem(err, api.Invalid, api.Denied, api.Internal)
}
