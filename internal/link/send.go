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
	another         // another process answered
	void            // what was sent no longer counts
)

// send delivers one parcel, and repeats it until it is accepted. It returns false when the rest
// that was queued with it is void.
func (l *Link) send(p parcel, gen uint64) bool {
	if p.items = l.known(p.items); len(p.items) == 0 && p.count > 0 {
		l.release(p, gen, func(*Stats) {})
		return true
	}
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
		case another:
			l.answered(b.ReceiverIncarnation)
			return l.reincarnated(reply.Incarnation, gen)
		case taken:
			l.answered(b.ReceiverIncarnation)
			l.release(p, gen, func(s *Stats) { s.Batches++; s.Sent += uint64(len(p.items)) })
			l.learn(&reply, p.items)
			return true
		case refused:
			l.answered(b.ReceiverIncarnation)
			l.release(p, gen, func(s *Stats) { s.Refused += uint64(len(p.items)) })
			l.opts.OnRefused(len(p.items), err)
			return true
		case busy:
			l.answered(b.ReceiverIncarnation)
		case failed:
			l.missed(err, b.ReceiverIncarnation, time.Now())
		}
		l.release(parcel{}, gen, func(s *Stats) { s.Retries++ })
		if !l.pause(attempt, gen) {
			return false
		}
	}
}

// attempt delivers once and classifies the outcome.
func (l *Link) attempt(b *wire.Batch, gen uint64) (outcome, wire.BatchReply, error) {
	forbidden := l.opts.Permitted != nil && !l.opts.Permitted()
	l.mu.Lock()
	if forbidden {
		l.clear()
	}
	ctx, current := l.genCtx, l.gen == gen
	b.ReceiverIncarnation = l.peer
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
		return classify(err), reply, err
	case l.peer != 0 && reply.Incarnation != l.peer:
		return another, reply, nil
	}
	l.peer = reply.Incarnation
	if reply.Problem != "" {
		return refused, reply, errors.New(reply.Problem)
	}
	return taken, reply, nil
}

// classify distinguishes an error that is an answer from a missing answer.
func classify(err error) outcome {
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
// as lost, so that its loss is reported in time.
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

// reincarnated drops what was meant for the peer's former process and notifies the
// daemon, which registers and calls Reset.
func (l *Link) reincarnated(now int64, gen uint64) bool {
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

// answered records that the peer answered an attempt that was meant for the given process of it.
func (l *Link) answered(peer int64) {
	if l.downSince.IsZero() {
		return
	}
	down := time.Since(l.downSince)
	l.downSince = time.Time{}
	l.setState(State{Peer: peer, Status: Up, For: down})
}

// missed records a failed attempt that was meant for the given process of the peer. Time in which
// this process itself did not run is not silence of the peer, and an attempt during which it did
// not run decides nothing.
func (l *Link) missed(err error, peer int64, now time.Time) {
	took := now.Sub(l.missedAt)
	l.missedAt = now
	if l.downSince.IsZero() {
		l.downSince = now
		l.setState(State{Peer: peer, Status: Down, Err: err})
	} else if away := took - l.opts.CallTimeout - 2*l.opts.RetryMax; away > 0 {
		l.downSince = l.downSince.Add(away)
		return
	}
	if down := now.Sub(l.downSince); l.status() == Down && down >= l.opts.LostAfter {
		l.setState(State{Peer: peer, Status: Lost, For: down, Err: err})
	}
}

func (l *Link) status() Status {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.stats.Status
}

func (l *Link) setState(s State) {
	l.mu.Lock()
	l.stats.Status = s.Status
	l.mu.Unlock()
	l.opts.OnState(s)
}
