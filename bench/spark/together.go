package spark

import (
	"context"
	"errors"
)

// together runs all at once and returns when all have ended. The first that fails
// ends the context of the others; its error counts.
func together(ctx context.Context, all ...func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	ended := make(chan error, len(all))
	for _, f := range all {
		go func() { ended <- f(ctx) }()
	}
	var first error
	for range all {
		if err := <-ended; err != nil && first == nil {
			first = err
			cancel(errors.New("another driver failed"))
		}
	}
	return first
}
