package daemon

import (
	"context"
	"errors"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/runloop"
)

// retryAfter is when a caller may try again after a full inbox refused it.
const retryAfter = 100 * time.Millisecond

// Mailbox is how other goroutines reach the owner goroutine of a daemon.
type Mailbox struct {
	// Name identifies the daemon in errors: "frontend f-0".
	Name string
	// Post runs do on the owner goroutine; the error is one of package runloop.
	Post func(do func()) error
}

// Ask runs a question on the owner goroutine and returns its answer. It fails when
// the inbox is full, the daemon is stopping or ctx ends first. tried is the purpose of
// the question, for the error: "looking up job X".
func Ask[T any](ctx context.Context, m Mailbox, tried string, question func() T) (answer T, err error) {
	done := make(chan T, 1)
	if err := m.Post(func() { done <- question() }); err != nil {
		return answer, m.Refusal(err, tried)
	}
	return Await(ctx, m, tried, done)
}

// Await returns the answer to a posted question.
func Await[T any](ctx context.Context, m Mailbox, tried string, done <-chan T) (answer T, err error) {
	select {
	case answer = <-done:
		return answer, nil
	case <-ctx.Done():
		return answer, m.Late(tried)
	}
}

// Refusal converts an error of Post into an error for users.
func (m Mailbox) Refusal(err error, tried string) error {
	if errors.Is(err, runloop.ErrClosed) {
		return m.Stopping(tried)
	}
	return &api.Error{Problem: api.Busy, What: err.Error(), Subject: m.Name, Tried: tried, Next: "try again", RetryAfter: retryAfter}
}

// Stopping returns the error of a daemon that is stopping.
func (m Mailbox) Stopping(tried string) error {
	return &api.Error{Problem: api.NotReady, What: runloop.ErrClosed.Error(), Subject: m.Name, Tried: tried, Next: "try again when it is back"}
}

// Late returns the error for a caller whose context ended before the answer came.
func (m Mailbox) Late(tried string) error {
	return &api.Error{Problem: api.NotReady, What: "the answer did not come in time", Subject: m.Name, Tried: tried, Next: "try again"}
}
