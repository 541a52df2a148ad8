package membership

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/pigeon-sched/pigeon/internal/membership/protocol"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// DefaultWait is how long a master holds an answer back while nothing changes.
const DefaultWait = 5 * time.Second

// errEarly is an answer that brought nothing new before its time. The request is not
// repeated at once, or the two daemons would do nothing else.
var errEarly = errors.New("the master answered early, with nothing new")

// FollowerOptions are the settings of a [Follower].
type FollowerOptions struct {
	Source wire.MembershipSource
	// Wait is how long the master may hold an answer back, and Margin how long it may
	// take beyond that before the call has failed. Wait is DefaultWait unless set.
	Wait, Margin time.Duration
	// Retry returns the pause after that many failures in a row. Default: 100 to 200 ms.
	Retry func(failures int) time.Duration
	// Apply is called with each newer membership; false ends the follower.
	Apply func(context.Context, *wire.Membership) bool
	// Heard, if set, is called with each answer, also with one that has nothing new.
	Heard func()
	// Failed, if set, is called after each failed request with the number of failures in a row.
	Failed func(err error, failures int)
}

// Follower keeps a daemon's copy of a master's membership.
type Follower struct {
	opts    FollowerOptions
	refresh chan struct{} // of size 1
}

// NewFollower returns a follower that Run starts.
func NewFollower(o FollowerOptions) *Follower {
	if o.Wait == 0 {
		o.Wait = DefaultWait
	}
	if o.Retry == nil {
		o.Retry = retryPause
	}
	if o.Heard == nil {
		o.Heard = func() {}
	}
	if o.Failed == nil {
		o.Failed = func(error, int) {}
	}
	return &Follower{opts: o, refresh: make(chan struct{}, 1)}
}

func retryPause(int) time.Duration {
	return 100*time.Millisecond + rand.N(100*time.Millisecond) //nolint:gosec // jitter, not a secret
}

// RefreshNow ends a pause after a failure: a peer has called that is not on the
// membership yet. It may be called from anywhere.
func (f *Follower) RefreshNow() {
	select {
	case f.refresh <- struct{}{}:
	default: // a refresh is already requested
	}
}

// Run follows the membership until ctx ends or Apply returns false. It may be called once.
func (f *Follower) Run(ctx context.Context) {
	var known protocol.Follower
	for failures := 0; ctx.Err() == nil; {
		asked, have := time.Now(), known.Position()
		m, err := f.ask(ctx, have)
		newer := err == nil && known.Accept(have, protocol.Position{Incarnation: m.Incarnation, Version: m.Version})
		if err == nil && !newer && time.Since(asked) < f.opts.Wait/2 {
			err = errEarly
		}
		if err != nil {
			failures++
			if ctx.Err() == nil {
				f.opts.Failed(err, failures)
			}
			f.pause(ctx, f.opts.Retry(failures))
			continue
		}
		failures = 0
		f.opts.Heard()
		if newer && !f.opts.Apply(ctx, &m) {
			return
		}
	}
}

func (f *Follower) ask(ctx context.Context, have protocol.Position) (wire.Membership, error) {
	call, cancel := context.WithTimeout(ctx, f.opts.Wait+f.opts.Margin)
	defer cancel()
	return f.opts.Source.Membership(call, have.Incarnation, have.Version, f.opts.Wait)
}

func (f *Follower) pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-f.refresh:
	case <-ctx.Done():
	}
}
