package relay

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/pigeon-sched/pigeon/thrift/client"
)

// ErrClosed is the answer to Send after Drain or Close.
var ErrClosed = errors.New("the daemon is stopping")

// FullError is the answer to Send when a bound is reached.
type FullError struct{ Bound string }

// Error implements error.
func (e *FullError) Error() string { return e.Bound }

// Options of a [Relay].
type Options[M any] struct {
	// Deliver makes one call; calls to one destination are made one at a time. The
	// message is delivered again if the error is a *client.CallError whose call was not
	// sent, and dropped after any other error.
	Deliver func(ctx context.Context, to string, m M) error
	// Size returns the bytes of a message, for the bounds.
	Size func(m M) int
	// Unreachable is called when a destination cannot be reached any more, Dropped
	// for each message that is not delivered.
	Unreachable func(to string, why error)
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

	Patience time.Duration // how long a message is kept for a destination that cannot be reached
	MinPause time.Duration // before a destination that could not be reached is called again; it doubles
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

// queue holds the messages that wait for one destination. All fields but wake are guarded
// by the relay's mu.
type queue[M any] struct {
	to       string
	group    string
	messages []message[M]
	bytes    int
	wake     chan struct{} // of size 1: requests a call at once
}

type message[M any] struct {
	body M
	size int
	sent time.Time
}

// New returns a relay. The caller must call Close.
func New[M any](o Options[M]) *Relay[M] {
	if o.Group == nil {
		o.Group = func(string) string { return "" }
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
	size, group := r.opts.Size(m), r.opts.Group(to)
	q := r.queues[to]
	if bound := r.boundReached(q, group, size); bound != "" {
		r.stats.Refused++
		return &FullError{bound}
	}
	if q == nil {
		q = &queue[M]{to: to, group: group, wake: make(chan struct{}, 1)}
		r.queues[to] = q
		r.all.Go(func() { r.deliver(q) })
	}
	q.messages = append(q.messages, message[M]{m, size, time.Now()})
	r.count(q, size)
	r.stats.Waiting++
	return nil
}

// count counts bytes that wait for a destination, or do not any more. The caller holds the lock.
func (r *Relay[M]) count(q *queue[M], bytes int) {
	q.bytes += bytes
	r.bytes += bytes
	if q.group == "" {
		return
	}
	if r.groups[q.group] += bytes; r.groups[q.group] == 0 {
		delete(r.groups, q.group)
	}
}

// boundReached returns the bound that a message would exceed, "" for none. The caller
// holds the lock.
func (r *Relay[M]) boundReached(q *queue[M], group string, size int) string {
	switch o := &r.opts; {
	case q == nil && len(r.queues) >= o.Destinations:
		return fmt.Sprintf("messages wait for %d destinations, which is the limit", o.Destinations)
	case q != nil && len(q.messages) >= o.Messages:
		limit := fmt.Sprintf("%d messages wait for it, which is the limit", o.Messages)
		if o.Setting != "" {
			limit += " (" + o.Setting + ")"
		}
		return limit
	case q != nil && o.Bytes > 0 && q.bytes+size > o.Bytes:
		return fmt.Sprintf("%d bytes of messages wait for it; the limit is %d", q.bytes, o.Bytes)
	case group != "" && r.groups[group]+size > o.GroupBytes:
		return fmt.Sprintf("%d bytes of messages wait for all destinations of %s; the limit is %d", r.groups[group], group, o.GroupBytes)
	case o.TotalBytes > 0 && r.bytes+size > o.TotalBytes:
		return fmt.Sprintf("%d bytes of messages wait for all destinations; the limit is %d", r.bytes, o.TotalBytes)
	}
	return ""
}

// deliver makes the calls to one destination until no message waits for it.
func (r *Relay[M]) deliver(q *queue[M]) {
	pauses := &backoff.ExponentialBackOff{InitialInterval: r.opts.MinPause, RandomizationFactor: 0.25, Multiplier: 2, MaxInterval: r.opts.MaxPause}
	pauses.Reset()
	reachable := true
	for {
		m, ok := r.head(q)
		if !ok {
			return
		}
		err := r.opts.Deliver(r.ctx, q.to, m.body)
		switch {
		case r.ctx.Err() != nil:
			return
		case err == nil:
			reachable = true
			pauses.Reset()
			r.pop(q, &r.stats.Delivered)
		case mayRepeat(err) && time.Since(m.sent) < r.opts.Patience:
			if reachable {
				r.opts.Unreachable(q.to, err)
			}
			reachable = false
			r.pause(q, pauses.NextBackOff())
		default:
			r.opts.Dropped(q.to, m.body, err)
			r.pop(q, &r.stats.Dropped)
		}
	}
}

// mayRepeat reports whether the destination cannot have received the message.
func mayRepeat(err error) bool {
	failed, ok := errors.AsType[*client.CallError](err)
	return ok && !failed.Sent
}

// head returns the message to deliver next. If there is none, it removes the queue.
func (r *Relay[M]) head(q *queue[M]) (m message[M], ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(q.messages) == 0 {
		delete(r.queues, q.to)
		return m, false
	}
	return q.messages[0], true
}

// pop removes the first message from its queue and counts its outcome.
func (r *Relay[M]) pop(q *queue[M], outcome *uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	size := q.messages[0].size
	q.messages[0] = message[M]{}
	q.messages = q.messages[1:]
	r.count(q, -size)
	r.stats.Waiting--
	*outcome++
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
