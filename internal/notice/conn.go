package notice

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/pigeon-sched/pigeon/internal/api"
)

// ErrClosed is returned once the connection was closed.
var ErrClosed = errors.New("the NATS connection is closed")

// Conn is a connection to NATS. It is safe for concurrent use.
type Conn struct {
	opts  Options
	nc    atomic.Pointer[nats.Conn] // the library closes one for good after an error that it does not know
	out   *outbox
	ended sync.WaitGroup // connections of the library that have not dispatched their last event

	connected atomic.Bool // written under mu
	received  atomic.Uint64
	begun     atomic.Bool // the first attempt to connect has ended

	mu       sync.Mutex
	closed   bool
	subs     []*subscription
	replaced replaced
	faulted  time.Time      // when a fault was logged last
	active   sync.WaitGroup // goroutines of subscriptions, the outbox's, and the one that replaces nc
}

// Stats are counts since the connection was made, except Connected and Queued.
type Stats struct {
	Connected  bool
	Queued     int    // notices published and not handed on yet
	Published  uint64 // handed to the server's socket
	Unsent     uint64 // refused by Publish or dropped from its queue
	Received   uint64 // passed to the functions of subscriptions
	Overrun    uint64 // received but dropped, because a function was too slow
	Reconnects uint64
}

// Connect begins to connect and returns at once if the server cannot be reached:
// the connection is then made as soon as it can. The error means that the options
// can never work.
func Connect(o Options) (*Conn, error) {
	c := &Conn{opts: o.withDefaults()}
	c.out = newOutbox(c.opts.MaxQueued, c.opts.MaxQueuedBytes)
	nc, err := c.dial()
	if err != nil {
		return nil, &api.Error{
			Problem: api.Invalid, Subject: "NATS server " + c.opts.Redacted(), What: c.opts.Explain(err),
			Tried: "connecting", Next: "set a URL such as nats://127.0.0.1:4222, or none to do without NATS",
		}
	}
	c.nc.CompareAndSwap(nil, nc) // unless it was closed and replaced meanwhile
	c.refresh(nc)
	c.active.Go(func() {
		c.out.run(func(subject string, data []byte) error { return c.nc.Load().Publish(subject, data) })
	})
	return c, nil
}

// dial makes a connection of the library.
func (c *Conn) dial() (*nats.Conn, error) {
	c.ended.Add(1)
	nc, err := nats.Connect(c.opts.URL, c.natsOptions()...)
	if err != nil {
		c.ended.Done() // there is no event to come
	}
	return nc, err
}

// Connected reports whether the server is reachable, as far as is known.
func (c *Conn) Connected() bool { return c.connected.Load() }

// Publish queues a notice and never blocks. data is copied. After an
// error nothing was sent; without one the notice may still be lost.
func (c *Conn) Publish(subject string, data []byte) error {
	if !c.connected.Load() {
		c.out.drop()
		return &api.Error{
			Problem: api.NotReady, Subject: "NATS server " + c.opts.Redacted(), What: "it is not reachable",
			Tried: "publishing to " + subject, Next: "nothing to do; it is tried again and again",
		}
	}
	return c.out.put(subject, data)
}

func (c *Conn) isClosed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}

// Stats returns the counts now.
func (c *Conn) Stats() Stats {
	s := Stats{
		Connected: c.connected.Load(),
		Received:  c.received.Load(),
	}
	s.Queued, s.Published, s.Unsent = c.out.counts()
	c.mu.Lock()
	nc := c.nc.Load()
	s.Reconnects = c.replaced.reconnects
	for _, sub := range c.subs {
		s.Overrun += uint64(sub.dropped()) //nolint:gosec // a count
	}
	c.mu.Unlock()
	s.Reconnects += nc.Stats().Reconnects // waits for a stalled write, so not under the lock
	return s
}

// Close drops what is queued and returns when no function of a subscription runs
// any more and no goroutine is left. It must not be called from such a function.
// It is safe to call twice.
func (c *Conn) Close() error {
	c.mu.Lock()
	if !c.closed {
		c.closed = true
		c.out.close()
		c.connected.Store(false)
		c.nc.Load().Close()
	}
	c.mu.Unlock()
	c.active.Wait()
	c.ended.Wait()
	return nil
}

// refresh updates Connected and reports a change. nc matters only before Connect has returned.
func (c *Conn) refresh(nc *nats.Conn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if current := c.nc.Load(); current != nil {
		nc = current
	}
	now := !c.closed && nc.IsConnected()
	if c.connected.Swap(now) != now {
		c.opts.OnState(now)
	}
	return now
}

// unreached, changed, fault and gone are called by the library, one at a time for each of its
// connections.

// unreached logs why the first attempt to connect failed: a server that refuses this daemon needs
// another remedy than one that does not run.
func (c *Conn) unreached(_ *nats.Conn, err error) {
	if !c.begun.Swap(true) {
		c.opts.Log.Warn("NATS is not reachable; notices go by Thrift until it is", "url", c.opts.Redacted(), "error", c.opts.Explain(err))
	}
}

func (c *Conn) changed(nc *nats.Conn, err error) {
	c.begun.Store(true)
	before := c.connected.Load()
	switch now := c.refresh(nc); {
	case now && !before:
		c.opts.Log.Info("NATS is reachable", "url", Redact(nc.ConnectedUrl()))
	case before && !now:
		c.opts.Log.Warn("NATS was lost; notices go by Thrift until it is back", "url", c.opts.Redacted(), "error", err)
	}
}

// faultsEvery is how often trouble that repeats quickly is logged.
const faultsEvery = time.Minute

// fault logs trouble that repeats quickly once in a while; Stats has the counts.
func (c *Conn) fault(_ *nats.Conn, sub *nats.Subscription, err error) {
	if !c.mayLog(time.Now()) {
		return
	}
	subject := ""
	if sub != nil {
		subject = sub.Subject
	}
	c.opts.Log.Warn("notices are being lost; the metrics count them, this is logged once a minute at most", "subject", subject, "error", err)
}

// mayLog reports whether a fault may be logged now, and then not for faultsEvery.
func (c *Conn) mayLog(now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.faulted.IsZero() && now.Sub(c.faulted) < faultsEvery {
		return false
	}
	c.faulted = now
	return true
}
