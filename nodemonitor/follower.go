package nodemonitor

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// rollWait is how long the master holds an answer back while nothing changes.
const rollWait = 10 * time.Second

// errHasty is a question that brought nothing new before its time, which may not be
// asked again at once.
var errHasty = errors.New("it answers without waiting for a change")

// follower keeps this node's copy of the roll. One goroutine, in run, asks the
// master for each change as it comes (a long poll).
type follower struct {
	log      *slog.Logger
	master   wire.MembershipSource
	patience time.Duration // beyond rollWait
	enter    func(*wire.Membership) bool
	soon     chan struct{} // of size 1: somebody spoke who is not on the roll
}

func newFollower(log *slog.Logger, master wire.MembershipSource, patience time.Duration, enter func(*wire.Membership) bool) *follower {
	return &follower{log: log, master: master, patience: patience, enter: enter, soon: make(chan struct{}, 1)}
}

// hurry has a master that did not answer be asked again at once.
func (f *follower) hurry() { poke(f.soon) }

// run follows the roll once the node is registered, until ctx ends.
func (f *follower) run(ctx context.Context, registered <-chan struct{}) {
	select {
	case <-registered:
	case <-ctx.Done():
		return
	}
	var have wire.Membership
	for failures := 0; ctx.Err() == nil; {
		asked := time.Now()
		r, err := f.ask(ctx, have)
		news := r.Incarnation != have.Incarnation || r.Version != have.Version
		if err == nil && !news && time.Since(asked) < rollWait/2 {
			err = errHasty
		}
		if err != nil {
			if failures++; failures == 1 && ctx.Err() == nil {
				f.log.Warn("the master does not tell who is registered; the last roll holds", "error", err)
			}
			f.pause(ctx, time.Duration(backoff(failures)))
			continue
		}
		failures = 0
		if !news {
			continue
		}
		have = wire.Membership{Incarnation: r.Incarnation, Version: r.Version}
		if !f.enter(&r) {
			return
		}
	}
}

func (f *follower) ask(ctx context.Context, have wire.Membership) (wire.Membership, error) {
	call, cancel := context.WithTimeout(ctx, rollWait+f.patience)
	defer cancel()
	return f.master.Membership(call, have.Incarnation, have.Version, rollWait)
}

func (f *follower) pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-f.soon:
	case <-ctx.Done():
	}
}
