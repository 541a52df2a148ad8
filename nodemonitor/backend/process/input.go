package process

import (
	"context"
	"sync"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend/guard"
)

// input is the standard input of an attempt that takes one. At most one piece is not in the
// process's pipe yet: the next one, with its caller, waits for that.
type input struct {
	mu      sync.Mutex
	state   guard.InputState
	began   bool          // there is a process
	over    bool          // and there is none any more
	changed chan struct{} // closed, and replaced, with each change of the others
}

func newInput(e *api.Exec) *input {
	if e == nil || !e.Stdin {
		return nil
	}
	return &input{changed: make(chan struct{})}
}

// change makes a change, and wakes callers that wait for one. It does nothing for an attempt that
// takes no input.
func (in *input) change(do func()) {
	if in == nil {
		return
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	do()
	close(in.changed)
	in.changed = make(chan struct{})
}

// Piece is a piece of the standard input of an attempt.
type Piece struct {
	Offset int64 // of its first byte
	Data   []byte
	Last   bool          // the input ends with it
	Wait   time.Duration // how long there may be no room for it
}

// take passes a piece to feed, or returns that it must wait: with a channel that is closed when
// the wait may be over.
func (in *input) take(p *Piece, feed func(offset int64, data []byte) bool) (s guard.InputState, wait <-chan struct{}, over bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	end := p.Offset + int64(len(p.Data))
	switch {
	case in.over:
		return in.state, nil, true
	case !in.began:
		return in.state, in.changed, false
	case in.state.Closed, p.Offset > in.state.Taken, end < in.state.Taken, end == in.state.Taken && !p.Last:
		return in.state, nil, false // nothing of it is new, or can be taken
	case in.state.Writing:
		return in.state, in.changed, false
	}
	rest := p.Data[in.state.Taken-p.Offset:]
	if !feed(in.state.Taken, rest) {
		return in.state, nil, true
	}
	in.state.Taken += int64(len(rest))
	in.state.Writing = true
	return in.state, nil, false
}

// Input passes a piece of standard input to an attempt that runs here. It waits for room for as
// long as the piece states, and returns how far the attempt has received its input; bytes that it
// received before are left out.
func (b *Backend) Input(ctx context.Context, id sched.AttemptID, p *Piece) (guard.InputState, error) {
	b.mu.Lock()
	r := b.runs[id]
	b.mu.Unlock()
	if r == nil {
		return guard.InputState{}, notRunning(id)
	}
	if r.input == nil {
		return guard.InputState{}, &api.Error{
			Problem: api.Invalid, What: "it takes no standard input", Subject: "attempt " + id.String(),
			Tried: "giving it a piece", Next: "submit it with `pigeon run --stdin`",
		}
	}
	ctx, cancel := context.WithTimeout(ctx, p.Wait)
	defer cancel()
	for {
		s, wait, over := r.input.take(p, func(offset int64, data []byte) bool { return r.guard.Feed(r.handle, offset, data, p.Last) })
		switch {
		case over:
			return s, notRunning(id)
		case wait == nil:
			return s, nil
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return s, nil
		}
	}
}

func notRunning(id sched.AttemptID) error {
	return &api.Error{
		Problem: api.NotReady, What: "it does not run here now", Subject: "attempt " + id.String(),
		Tried: "giving it standard input", Next: "ask its frontend where its task runs",
	}
}
