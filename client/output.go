package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// PieceBytes bounds the piece of a log that one request returns.
const PieceBytes = 256 << 10

// Output copies one output of a task, piece by piece, through the loss of its node and other attempts.
type Output struct {
	Job     string
	Task    int    // number in the job, from 0
	Attempt int    // 0: the latest
	Stream  string // stdout or stderr
	// Write is called with each piece, Skip with the number of bytes that the node did not keep and the
	// reason, and Again, unless it is nil, before the output of another attempt begins.
	Write func(t *Output, data []byte) error
	Skip  func(t *Output, missing int64, why string) error
	Again func(t *Output)

	Offset  int64  // copied so far, in bytes
	Missing int64  // of them, those that the node did not keep
	Why     string // the last of them were not kept
	Current int    // the attempt that is copied; 0 before it is known
}

// WriteTo returns an Output of a task that is written to w as it is. The error of a copy that cannot be
// complete names what is missing.
func WriteTo(w io.Writer, job *Job, task int, stream string) *Output {
	return &Output{
		Job: job.ID, Task: task, Stream: stream,
		Write: func(_ *Output, data []byte) error { _, err := w.Write(data); return err },
		Skip: func(t *Output, missing int64, why string) error {
			return fmt.Errorf("%d bytes of the %s of task %d of job %s are missing from byte %d on: %s", missing, t.Stream, t.Task, t.Job, t.Offset, why)
		},
	}
}

// WriteError is the error of a copy whose reader has a fault: a full disk, a closed pipe.
type WriteError struct{ err error }

func (e WriteError) Error() string { return fmt.Sprintf("output could not be written: %v", e.err) }
func (e WriteError) Unwrap() error { return e.err }

// Copy copies what the task has written since the last call. All output of an ended job
// must be there: the client looks for it as long as it retries.
func (t *Output) Copy(ctx context.Context, job *Job, ended bool) error {
	for {
		piece, err := job.Log(ctx, wire.LogRequest{
			Job: t.Job, Task: t.Task, Attempt: t.Attempt, Stream: t.Stream, Offset: t.Offset, Limit: PieceBytes,
		}, ended)
		if err != nil {
			return err
		}
		if t.replacedBy(&piece) {
			continue
		}
		switch {
		case len(piece.Data) > 0:
			err = t.Write(t, piece.Data)
		case piece.Missing > 0:
			err = t.Skip(t, piece.Missing, piece.Why)
			t.Missing, t.Why = t.Missing+piece.Missing, piece.Why
		default:
			return nil
		}
		if err != nil {
			return WriteError{err}
		}
		t.Offset += int64(len(piece.Data)) + piece.Missing
	}
}

// replacedBy reports whether a piece belongs to another attempt than what was copied so far. Then the
// output of that attempt is copied from its beginning.
func (t *Output) replacedBy(piece *wire.LogChunk) bool {
	other := piece.Attempt != t.Current && t.Current != 0
	if piece.Attempt == 0 { // a node of an earlier version
		other = piece.Size < t.Offset
	}
	t.Current = piece.Attempt
	if !other {
		return false
	}
	if t.Offset > 0 && t.Again != nil {
		t.Again(t)
	}
	t.Offset, t.Missing = 0, 0
	return true
}

// fetchEvery is the time between two looks at what a task has written.
const fetchEvery = 100 * time.Millisecond

// Follow copies what a job's task writes until the job has ended and all of it
// has been copied, and returns the job's last state. observe, if there is one, is called with each
// state before.
func Follow(ctx context.Context, job *Job, outputs []*Output, observe func(context.Context, *Job, *api.Status)) (api.Status, error) {
	for {
		s, err := job.WaitFor(ctx, fetchEvery)
		if err != nil {
			return s, err
		}
		if observe != nil {
			observe(ctx, job, &s)
		}
		for _, t := range outputs {
			must := s.State.Ended() && t.hasOutput(ctx, job, s.State)
			err := t.Copy(ctx, job, must)
			if _, here := errors.AsType[WriteError](err); here {
				return s, err
			}
			if err != nil && (must || !HasProblem(err, api.NotReady, api.NotFound)) {
				return s, fmt.Errorf("its output could not be read: %w", err)
			}
		}
		if s.State.Ended() {
			return s, nil
		}
	}
}

// hasOutput reports whether the task of a job that has ended must have output, which may be empty: it
// completed, or a part was copied, or its program failed. A task that did not complete may never
// have started.
func (t *Output) hasOutput(ctx context.Context, job *Job, s api.State) bool {
	switch {
	case s == api.StateCancelled: // where it ran may not be known any more
		return false
	case s == api.StateCompleted, t.Current != 0, t.Offset > 0:
		return true
	}
	e, err := job.Explain(ctx)
	if err != nil {
		return false
	}
	for i := range e.Tasks {
		if e.Tasks[i].Task == t.Task {
			return e.Tasks[i].Exit > 0 && e.Tasks[i].Seconds > 0 // 126 and 127 of one that never began have none
		}
	}
	return false
}

// HasProblem reports whether an error is a refusal of one of these kinds.
func HasProblem(err error, kinds ...api.Problem) bool {
	e, ok := errors.AsType[*api.Error](err)
	for _, k := range kinds {
		if ok && e.Problem == k {
			return true
		}
	}
	return false
}
