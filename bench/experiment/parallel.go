package experiment

import (
	"context"
	"runtime"
	"sync"
)

// InParallel calls do for 0 to n-1 on all processors and hands the results to
// each in this order, as soon as each can be. The first error ends it; calls
// under way are then waited for.
func InParallel[T any](ctx context.Context, n int, do func(context.Context, int) (T, error), each func(int, T) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	results := make([]chan outcomeOf[T], n)
	for i := range results {
		results[i] = make(chan outcomeOf[T], 1)
	}
	next := make(chan int)
	var all sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		all.Go(func() {
			for i := range next {
				value, err := do(ctx, i)
				results[i] <- outcomeOf[T]{value, err}
			}
		})
	}
	all.Go(func() {
		defer close(next)
		for i := range n {
			select {
			case next <- i:
			case <-ctx.Done():
				return
			}
		}
	})
	defer all.Wait()
	defer cancel() // before the wait
	for i := range n {
		select {
		case r := <-results[i]:
			if r.err != nil {
				return r.err
			}
			if err := each(i, r.value); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

type outcomeOf[T any] struct {
	value T
	err   error
}
