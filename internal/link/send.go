package link

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// outcome of an attempt to deliver.
type outcome int

const (
	taken   outcome = iota
	refused         // never to be taken
	busy            // the peer lives but has no room
	failed          // no answer
	reborn          // another process answered
	void            // what was sent no longer counts
)

// send delivers one parcel, as often as it takes. It returns false when what else
// was queued with it is void.
func (l *Link) send(p parcel, gen uint64) bool {
	l.sequence++
	b := &wire.Batch{
		Sender: l.opts.Self, Receiver: l.opts.Peer, Address: l.opts.Address,
		Incarnation: l.opts.Incarnation, Sequence: l.sequence, Items: p.items,
	}
	if l.opts.Epoch != nil {
		b.Epoch = l.opts.Epoch()
	}
	for attempt := 0; ; attempt++ {
		what, reply, err := l.attempt(b, gen)
		switch what {
		case void:
			return false
		case reborn:
			l.heard()
			return l.rebirth(reply.Incarnation, gen)
		case taken:
			l.heard()
			l.settle(p, gen, func(s *Stats) { s.Batches++; s.Sent += uint64(len(p.items)) })
			return true
		case refused:
			l.heard()
			l.settle(p, gen, func(s *Stats) { s.Refused += uint64(len(p.items)) })
			l.opts.OnRefused(len(p.items), err)
			return true
		case busy:
			l.heard()
		case failed:
			l.missed(err)
		}
		l.settle(parcel{}, gen, func(s *Stats) { s.Retries++ })
		if !l.pause(attempt, gen) {
			return false
		}
	}
}

// attempt delivers once and sorts what came of it.
func (l *Link) attempt(b *wire.Batch, gen uint64) (outcome, wire.BatchReply, error) {
	l.mu.Lock()
	ctx, current := l.genCtx, l.gen == gen
	l.mu.Unlock()
	if !current {
		return void, wire.BatchReply{}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, l.patience())
	defer cancel()
	reply, err := l.to.Deliver(ctx, b)

	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.gen != gen:
		return void, reply, nil
	case err != nil:
		return sortError(err), reply, err
	case l.peer != 0 && reply.Incarnation != l.peer:
		return reborn, reply, nil
	}
	l.peer = reply.Incarnation
	if reply.Problem != "" {
		return refused, reply, errors.New(reply.Problem)
	}
	return taken, reply, nil
}

// sortError tells an answer that is an error from the want of one.
func sortError(err error) outcome {
	var e *api.Error
	if !errors.As(err, &e) {
		return failed
	}
	switch e.Problem {
	case api.Invalid:
		return refused
	case api.Busy:
		return busy
	default:
		return failed
	}
}

// patience is how long an attempt may take: no longer than until the peer counts
// as lost, so that it is told in time.
func (l *Link) patience() time.Duration {
	d := l.opts.CallTimeout
	if left := l.untilLost(); left > 0 {
		d = min(d, left)
	}
	return d
}

// untilLost is zero or less when the peer is lost already, or not down.
func (l *Link) untilLost() time.Duration {
	if l.downSince.IsZero() || l.status() == Lost {
		return 0
	}
	return l.opts.LostAfter - time.Since(l.downSince)
}

// rebirth drops what was meant for the peer's former process and tells the
// daemon, which registers and calls Reset.
func (l *Link) rebirth(now int64, gen uint64) bool {
	l.mu.Lock()
	if l.gen != gen {
		l.mu.Unlock()
		return false
	}
	before := l.peer
	l.clear()
	l.stale = true
	l.mu.Unlock()
	l.opts.OnReincarnation(before, now)
	return false
}

// pause waits before the next attempt; false when that is void.
func (l *Link) pause(attempt int, gen uint64) bool {
	l.mu.Lock()
	ctx, current := l.genCtx, l.gen == gen
	l.mu.Unlock()
	if !current {
		return false
	}
	d := l.opts.RetryMax
	if attempt < 20 {
		d = min(d, l.opts.RetryMin<<attempt)
	}
	d -= rand.N(d/2 + 1) //nolint:gosec // jitter, not a secret
	if left := l.untilLost(); left > 0 {
		d = min(d, left)
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// heard notes that the peer answered.
func (l *Link) heard() {
	if l.downSince.IsZero() {
		return
	}
	down := time.Since(l.downSince)
	l.downSince = time.Time{}
	l.tell(State{Status: Up, For: down})
}

// missed notes that an attempt failed.
func (l *Link) missed(err error) {
	if l.downSince.IsZero() {
		l.downSince = time.Now()
		l.tell(State{Status: Down, Err: err})
	}
	if down := time.Since(l.downSince); l.status() == Down && down >= l.opts.LostAfter {
		l.tell(State{Status: Lost, For: down, Err: err})
	}
}

func (l *Link) status() Status {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.stats.Status
}

func (l *Link) tell(s State) {
	l.mu.Lock()
	l.stats.Status = s.Status
	l.mu.Unlock()
	l.opts.OnState(s)
}
