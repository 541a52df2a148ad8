package membership

import (
	"context"
	"errors"
	"time"
)

// ErrStop ends a [Heartbeat] when its beat returns it.
var ErrStop = errors.New("the heartbeat ends")

// Heartbeat calls a peer periodically: a hello, or a snapshot.
type Heartbeat struct {
	every   time.Duration
	retry   func(failures int) time.Duration
	beat    func(context.Context) error
	beatNow chan struct{} // of size 1
	wake    chan struct{} // of size 1
}

// NewHeartbeat returns a heartbeat that Run starts. Each call of beat begins a period
// after the one before, and at once if that took longer. When beat fails the next call follows
// a pause of retry, called with the number of failures in a row; nil: after the period as well.
func NewHeartbeat(every time.Duration, retry func(failures int) time.Duration, beat func(context.Context) error) *Heartbeat {
	return &Heartbeat{every: every, retry: retry, beat: beat, beatNow: make(chan struct{}, 1), wake: make(chan struct{}, 1)}
}

// BeatNow makes the next beat follow at once, unless the last one failed. It may be
// called from anywhere.
func (h *Heartbeat) BeatNow() {
	select {
	case h.beatNow <- struct{}{}:
	default: // one is due already
	}
}

// Wake makes the next beat follow at once, also after one that failed: something has
// happened that lets it succeed. It may be called from anywhere.
func (h *Heartbeat) Wake() {
	select {
	case h.wake <- struct{}{}:
	default: // as above
	}
}

// Run beats until ctx ends or a beat returns [ErrStop]. It may be called once.
func (h *Heartbeat) Run(ctx context.Context) {
	for failures := 0; ctx.Err() == nil; {
		began := time.Now()
		err := h.beat(ctx)
		if errors.Is(err, ErrStop) {
			return
		}
		pause, beatNow := h.every-time.Since(began), h.beatNow
		if failures++; err == nil {
			failures = 0
		} else if beatNow = nil; h.retry != nil {
			pause = h.retry(failures)
		}
		timer := time.NewTimer(max(0, pause))
		select {
		case <-timer.C:
		case <-beatNow:
		case <-h.wake:
		case <-ctx.Done():
		}
		timer.Stop()
	}
}
