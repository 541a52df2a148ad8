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
	// User, if set, returns whose a message is, "" for nobody's. Those of one user have at most half of
	// Messages and of Bytes of a destination, so that no user takes the room of the others.
	User func(m M) string

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
	users    map[string]amount // what waits of each user; none is zero
	wake     chan struct{}     // of size 1: requests a call at once
}

type message[M any] struct {
	body M
	user string
	size int
	sent time.Time
}

type amount struct{ messages, bytes int }

// userPart is the part of Messages and of Bytes of a destination that those of one user may have.
const userPart = 2

// New returns a relay. The caller must call Close.
func New[M any](o Options[M]) *Relay[M] {
	if o.Group == nil {
		o.Group = func(string) string { return "" }
	}
	if o.User == nil {
		o.User = func(M) string { return "" }
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
	q := r.queues[to]
	if bound := r.boundReached(q, group, &add); bound != "" {
		r.stats.Refused++
		return &FullError{bound}
	}
	if q == nil {
		q = &queue[M]{to: to, group: group, users: map[string]amount{}, wake: make(chan struct{}, 1)}
		r.queues[to] = q
		r.all.Go(func() { r.deliver(q) })
	}
	q.messages = append(q.messages, add)
	r.count(q, &add, 1)
	return nil
}

// count counts a message that waits for a destination, or, by -1, does not any more. The caller holds
// the lock.
func (r *Relay[M]) count(q *queue[M], m *message[M], by int) {
	bytes := by * m.size
	r.stats.Waiting += by
	q.bytes += bytes
	r.bytes += bytes
	if m.user != "" {
		has := q.users[m.user]
		has.messages += by
		has.bytes += bytes
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

// boundReached returns the bound that a message would exceed, "" for none. The caller
// holds the lock.
func (r *Relay[M]) boundReached(q *queue[M], group string, m *message[M]) string {
	o, size := &r.opts, m.size
	if q == nil {
		q = &queue[M]{}
		if len(r.queues) >= o.Destinations {
			return fmt.Sprintf("messages wait for %d destinations, which is the limit", o.Destinations)
		}
	}
	switch of, most := q.users[m.user], max(1, o.Messages/userPart); {
	case len(q.messages) >= o.Messages:
		return fmt.Sprintf("%d messages wait for it, which is the limit%s", o.Messages, named("", o.Setting))
	case m.user != "" && of.messages >= most:
		return fmt.Sprintf("%d messages of %s wait for it, which is the limit for one user%s", of.messages, m.user, named("half of ", o.Setting))
	case len(q.messages) > 0 && o.Bytes > 0 && q.bytes+size > o.Bytes:
		return fmt.Sprintf("%d bytes of messages wait for it; the limit is %d", q.bytes, o.Bytes)
	case m.user != "" && of.messages > 0 && o.Bytes > 0 && of.bytes+size > o.Bytes/userPart:
		return fmt.Sprintf("%d bytes of messages of %s wait for it; the limit for one user is %d", of.bytes, m.user, o.Bytes/userPart)
	case group != "" && r.groups[group]+size > o.GroupBytes:
		return fmt.Sprintf("%d bytes of messages wait for all destinations of %s; the limit is %d", r.groups[group], group, o.GroupBytes)
	case o.TotalBytes > 0 && r.bytes+size > o.TotalBytes:
		return fmt.Sprintf("%d bytes of messages wait for all destinations; the limit is %d", r.bytes, o.TotalBytes)
	}
	return ""
}

// named returns what names a part of a setting in a refusal, "" for no setting.
func named(part, setting string) string {
	if setting == "" {
		return ""
	}
	return " (" + part + setting + ")"
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
	m := q.messages[0]
	q.messages[0] = message[M]{}
	q.messages = q.messages[1:]
	r.count(q, &m, -1)
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
