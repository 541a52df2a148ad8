package frontend

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/runloop"
)

// ask runs a question about a job in the owner goroutine and waits for its
// answer. tried says what for, in errors.
func ask[T any](ctx context.Context, f *Frontend, tried, name string, question func(*owner) T) (answer T, err error) {
	done := make(chan T, 1)
	if err := f.post(func() { done <- question(f.owner) }); err != nil {
		return answer, f.busy(err)
	}
	select {
	case answer = <-done:
		return answer, nil
	case <-ctx.Done():
		return answer, f.late(tried, name)
	}
}

// busy turns a full or closed inbox into an answer.
func (f *Frontend) busy(err error) error {
	if errors.Is(err, runloop.ErrClosed) {
		return f.leaving("asking it")
	}
	return &api.Error{Problem: api.Busy, What: err.Error(), Subject: "frontend " + f.cfg.ID, Next: "try again", RetryAfter: 100 * time.Millisecond}
}

// leaving is the answer of a frontend that stops.
func (f *Frontend) leaving(tried string) error {
	return &api.Error{Problem: api.NotReady, What: "it is stopping", Subject: "frontend " + f.cfg.ID, Tried: tried, Next: "try again when it is back; it resumes all jobs"}
}

func (f *Frontend) late(tried, name string) error {
	return &api.Error{Problem: api.NotReady, What: "the answer did not come in time", Subject: fmt.Sprintf("job %q", name), Tried: tried, Next: "try again"}
}
