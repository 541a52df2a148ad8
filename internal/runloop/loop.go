package runloop

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
)

// ErrClosed is the error of posting to a loop that has ended.
var ErrClosed = errors.New("the daemon is stopping")

// FullError is the error of posting to a full inbox.
type FullError struct{ Limit int }

// Error implements error.
func (e *FullError) Error() string {
	return fmt.Sprintf("the daemon's inbox is full (%d entries)", e.Limit)
}

// Loop is an inbox and the goroutine that empties it, the owner goroutine. Make one
// with New.
type Loop[T any] struct {
	limit  int
	handle func(batch []T)
	wake   chan struct{} // of size 1: the inbox is not empty

	mu     sync.Mutex
	inbox  []T // appended to by any goroutine, emptied by the owner
	closed bool
}

// New returns a loop whose owner goroutine calls handle with everything that was
// posted since the last call, in order. At most limit entries wait.
func New[T any](limit int, handle func(batch []T)) *Loop[T] {
	return &Loop[T]{limit: limit, handle: handle, wake: make(chan struct{}, 1)}
}

// Post adds all of the entries or none. It never blocks.
func (l *Loop[T]) Post(items ...T) error { return l.post(l.limit, items) }

// PostUnbounded is Post without the limit, for the results of work that the daemon itself
// has started (a due timer, a finished write): the number of such entries is bounded
// where the work is started, and a refused entry would be lost.
func (l *Loop[T]) PostUnbounded(items ...T) error { return l.post(math.MaxInt, items) }

func (l *Loop[T]) post(limit int, items []T) error {
	l.mu.Lock()
	switch {
	case l.closed:
		l.mu.Unlock()
		return ErrClosed
	case len(l.inbox)+len(items) > limit:
		l.mu.Unlock()
		return &FullError{Limit: l.limit}
	}
	l.inbox = append(l.inbox, items...)
	l.mu.Unlock()
	select {
	case l.wake <- struct{}{}:
	default: // the owner was woken already
	}
	return nil
}

// Run is the owner goroutine. When ctx is done, it handles the entries that wait and
// returns, so that every entry whose Post returned nil is handled.
func (l *Loop[T]) Run(ctx context.Context) {
	var reuse []T
	for {
		select {
		case <-l.wake:
			reuse = l.drain(reuse)
		case <-ctx.Done():
			l.mu.Lock()
			l.closed = true
			l.mu.Unlock()
			l.drain(reuse)
			return
		}
	}
}

// drain handles the entries that wait and returns the emptied slice for reuse.
func (l *Loop[T]) drain(reuse []T) []T {
	l.mu.Lock()
	batch := l.inbox
	l.inbox = reuse[:0]
	l.mu.Unlock()
	if len(batch) > 0 {
		l.handle(batch)
	}
	clear(batch)
	return batch
}
