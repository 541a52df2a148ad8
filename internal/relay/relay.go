package relay

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/pigeon-sched/pigeon/thrift/client"
)

// ErrClosed is the answer to Send after Drain or Close.
var ErrClosed = errors.New("the daemon is stopping")

// Options of a [Relay].
type Options[M any] struct {
	// Deliver makes one call; calls to one destination are made one at a time. The
	// message is delivered again if the error is a *client.CallError whose call was not
	// sent, or one for which Refused returns true, and dropped after any other error.
	Deliver func(ctx context.Context, to string, m M) error
	// Stream, if set, returns the stream of a message, which is the application that it is about; without
	// it, all messages for a destination are one stream.
	Stream func(m M) string
	// Refused, if set, reports whether an error is the answer of a destination that has not taken the
	// message and may take it later, and how long at least to wait before that.
	Refused func(err error) (wait time.Duration, refused bool)
	// Size returns the bytes of a message, for the bounds.
	Size func(m M) int
	// Unreachable is called when a destination cannot be reached any more, Held when it has refused
	// a message and those of its stream begin to wait, Dropped for each message that is not delivered.
	Unreachable func(to string, why error)
	Held        func(to string, m M, why error)
	Dropped     func(to string, m M, why error)

	Destinations int    // with waiting messages, at most
	Messages     int    // waiting for one destination, at most
	Setting      string // the setting of Messages, for refusals; "" if it cannot be set
	Bytes        int    // waiting for one destination, at most; 0: only TotalBytes counts
	TotalBytes   int    // waiting for all destinations, at most; 0: only Bytes counts
	// Group, if set, returns whose a destination is, "" for nobody's. GroupBytes wait for all
	// destinations of one group, at most, so that no group takes the room of the others.
	Group      func(to string) string
	GroupBytes int
	// User, if set, returns whose a message is, "" for nobody's. Those of one user have at most half of
	// Messages and of Bytes of a destination, so that no user takes the room of the others.
	User func(m M) string

	Patience time.Duration // how long a message is kept for a destination that cannot be reached, or refuses it for now
	MinPause time.Duration // before a destination is called again that could not be reached, or refused; it doubles
	MaxPause time.Duration
}

// Stats counts the waiting messages and the outcomes of the others.
type Stats struct {
	Waiting                     int
	Delivered, Dropped, Refused uint64
}

// Relay has a queue and a goroutine for each destination with waiting messages.
// It is safe for concurrent use.
type Relay[M any] struct {
	opts Options[M]
	ctx  context.Context // of the calls
	stop context.CancelFunc
	all  sync.WaitGroup // the goroutines

	mu     sync.Mutex
	queues map[string]*queue[M] // by destination; no queue is empty
	bytes  int
	groups map[string]int // bytes, by group; none is 0
	stats  Stats
	closed bool
}

// New returns a relay. The caller must call Close.
func New[M any](o Options[M]) *Relay[M] {
	if o.Group == nil {
		o.Group = func(string) string { return "" }
	}
	if o.User == nil {
		o.User = func(M) string { return "" }
	}
	if o.Stream == nil {
		o.Stream = func(M) string { return "" }
	}
	if o.Refused == nil {
		o.Refused = func(error) (time.Duration, bool) { return 0, false }
	}
	r := &Relay[M]{opts: o, queues: map[string]*queue[M]{}, groups: map[string]int{}}
	r.ctx, r.stop = context.WithCancel(context.Background())
	return r
}

// Send queues a message. The error is a *FullError that names the bound, or
// ErrClosed.
func (r *Relay[M]) Send(to string, m M) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return ErrClosed
	}
	add, group := message[M]{m, r.opts.User(m), r.opts.Size(m), time.Now()}, r.opts.Group(to)
	q, name := r.queues[to], r.opts.Stream(m)
	if full := r.boundReached(q, name, group, &add); full != nil {
		r.stats.Refused++
		return full
	}
	if q == nil {
		q = newQueue[M](to, group)
		r.queues[to] = q
		r.all.Go(func() { r.deliver(q) })
	}
	r.count(q, q.add(name, add), &add, 1)
	return nil
}

// count counts a message that waits for a destination, or, by -1, does not any more. The caller holds
// the lock.
func (r *Relay[M]) count(q *queue[M], s *stream[M], m *message[M], by int) {
	bytes := by * m.size
	r.stats.Waiting += by
	r.bytes += bytes
	q.all.add(by, bytes)
	s.all.add(by, bytes)
	if s.refused {
		q.refused.add(by, bytes)
	}
	if m.user != "" {
		has := q.users[m.user]
		has.add(by, bytes)
		q.users[m.user] = has
		if has.messages == 0 {
			delete(q.users, m.user)
		}
	}
	if q.group == "" {
		return
	}
	if r.groups[q.group] += bytes; r.groups[q.group] == 0 {
		delete(r.groups, q.group)
	}
}

// deliver makes the calls to one destination until no message waits for it.
func (r *Relay[M]) deliver(q *queue[M]) {
	pauses := r.pauses()
	reachable := true
	for {
		s, m, ok := r.next(q)
		if !ok {
			return
		}
		err := r.opts.Deliver(r.ctx, q.to, m.body)
		wait, refused := r.opts.Refused(err)
		young := time.Since(m.sent) < r.opts.Patience
		switch {
		case r.ctx.Err() != nil:
			return
		case err == nil:
			reachable = true
			pauses.Reset()
			r.pop(q, s, true)
		case mayRepeat(err) && young:
			if reachable {
				r.opts.Unreachable(q.to, err)
			}
			reachable = false
			r.pause(q, pauses.NextBackOff())
		case refused && young:
			reachable = true
			pauses.Reset()
			if r.hold(q, s, wait) {
				r.opts.Held(q.to, m.body, err)
			}
		default:
			r.opts.Dropped(q.to, m.body, err)
			r.pop(q, s, false)
		}
	}
}

func (r *Relay[M]) pauses() *backoff.ExponentialBackOff {
	b := &backoff.ExponentialBackOff{InitialInterval: r.opts.MinPause, RandomizationFactor: 0.25, Multiplier: 2, MaxInterval: r.opts.MaxPause}
	b.Reset()
	return b
}

// mayRepeat reports whether the destination cannot have received the message.
func mayRepeat(err error) bool {
	failed, ok := errors.AsType[*client.CallError](err)
	return ok && !failed.Sent
}

// next returns the message to deliver next and its stream. While the destination refuses those of every
// stream, it waits. If no message is left, it removes the queue.
func (r *Relay[M]) next(q *queue[M]) (s *stream[M], m message[M], ok bool) {
	for {
		s, m, empty := r.head(q)
		if s != nil || empty {
			return s, m, !empty
		}
		select {
		case <-q.more:
		case <-r.ctx.Done():
			return nil, m, false
		}
	}
}

// head returns the stream whose turn it is and its first message, nil when every stream is held.
func (r *Relay[M]) head(q *queue[M]) (s *stream[M], m message[M], empty bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case len(q.streams) == 0:
		delete(r.queues, q.to)
		return nil, m, true
	case len(q.ready) == 0:
		return nil, m, false
	}
	return q.ready[0], q.ready[0].messages[0], false
}

// pop removes the first message of the stream whose turn it was, delivered or dropped.
func (r *Relay[M]) pop(q *queue[M], s *stream[M], delivered bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	m := s.messages[0]
	s.messages[0] = message[M]{}
	s.messages = s.messages[1:]
	r.count(q, s, &m, -1)
	if delivered {
		r.stats.Delivered++
		q.accept(s)
	} else {
		r.stats.Dropped++
	}
	q.endTurn(s)
}

// hold keeps the messages of the stream whose turn it was for a pause that grows with each refusal, and
// for wait at least. It reports whether they did not wait before.
func (r *Relay[M]) hold(q *queue[M], s *stream[M], wait time.Duration) (first bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if first = q.refuse(s); first {
		s.pauses = r.pauses()
	}
	time.AfterFunc(max(wait, s.pauses.NextBackOff()), func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		q.release(s)
	})
	return first
}

// pause waits before the next call to a destination.
func (r *Relay[M]) pause(q *queue[M], d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-q.wake:
	case <-r.ctx.Done():
	}
}

// Retry calls a destination at once that could not be reached before.
func (r *Relay[M]) Retry(to string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if q := r.queues[to]; q != nil {
		select {
		case q.wake <- struct{}{}:
		default: // already requested
		}
	}
}

// Idle reports whether no message waits for a destination.
func (r *Relay[M]) Idle(to string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.queues[to] == nil
}

// Stats returns the counts.
func (r *Relay[M]) Stats() Stats {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stats
}

// Drain refuses new messages and waits until no message waits, or ctx ends.
func (r *Relay[M]) Drain(ctx context.Context) {
	r.refuse()
	empty := make(chan struct{})
	go func() { r.all.Wait(); close(empty) }() // Close ends the calls that it waits for
	select {
	case <-empty:
	case <-ctx.Done():
	}
}

// Close ends the calls and waits for them. Waiting messages are lost. It may be called
// twice.
func (r *Relay[M]) Close() {
	r.refuse()
	r.stop()
	r.all.Wait()
}

func (r *Relay[M]) refuse() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
}
