package experiment

import (
	"context"
	"runtime"

	"golang.org/x/sync/errgroup"
)

// InParallel calls do for 0 to n-1 on all processors and hands the results to each in
// this order, as soon as each can be, from one goroutine. The first error in this order ends it;
// it then waits for the calls in progress.
func InParallel[T any](ctx context.Context, n int, do func(context.Context, int) (T, error), each func(int, T) error) error {
	calls, ctx := errgroup.WithContext(ctx)
	calls.SetLimit(1 + runtime.GOMAXPROCS(0)) // one hands out the results
	type outcome struct {
		value T
		err   error
	}
	outcomes := make([]chan outcome, n)
	for i := range outcomes {
		outcomes[i] = make(chan outcome, 1)
	}
	calls.Go(func() error {
		for i := range n {
			select {
			case o := <-outcomes[i]:
				if o.err == nil {
					o.err = each(i, o.value)
				}
				if o.err != nil {
					return o.err
				}
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return nil
	})
	for i := range n {
		calls.Go(func() error {
			if ctx.Err() == nil {
				value, err := do(ctx, i)
				outcomes[i] <- outcome{value, err}
			}
			return nil
		})
	}
	return calls.Wait()
}
