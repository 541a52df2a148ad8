package replica

import (
	"context"
	"io"
	"time"
)

// advancing is the context of a read of any length. It ends with its parent, and when nothing was
// read for the patience: the deadline that it names moves on. The client library gives a read without
// a deadline 5 seconds as a whole, and waits for one that is silent until the deadline.
type advancing struct {
	context.Context
	patience time.Duration
	silence  *time.Timer
	cancel   context.CancelCauseFunc
}

func newAdvancing(parent context.Context, patience time.Duration) *advancing {
	ctx, cancel := context.WithCancelCause(parent)
	return &advancing{ctx, patience, time.AfterFunc(patience, func() { cancel(context.DeadlineExceeded) }), cancel}
}

// Deadline implements [context.Context].
func (a *advancing) Deadline() (time.Time, bool) {
	next := time.Now().Add(a.patience)
	if end, bounded := a.Context.Deadline(); bounded && end.Before(next) {
		return end, true
	}
	return next, true
}

// stop frees the context.
func (a *advancing) stop() {
	a.silence.Stop()
	a.cancel(nil)
}

// reader returns a reader of r that keeps the context from ending.
func (a *advancing) reader(r io.Reader) io.Reader { return advancingReader{a, r} }

type advancingReader struct {
	of *advancing
	r  io.Reader
}

// Read implements [io.Reader].
func (a advancingReader) Read(p []byte) (n int, err error) {
	if n, err = a.r.Read(p); n > 0 && a.of.Err() == nil {
		a.of.silence.Reset(a.of.patience)
	}
	return n, err
}
