package notice

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/pigeon-sched/pigeon/internal/api"
)

// flushTimeout bounds how long Subscribe waits for the server to confirm.
const flushTimeout = 2 * time.Second

// ErrClosed is returned once the connection was closed.
var ErrClosed = errors.New("the NATS connection is closed")

// Conn is a connection to NATS. It is safe for concurrent use.
type Conn struct {
	opts  Options
	nc    *nats.Conn
	out   *outbox
	ended chan struct{} // closed when the library has dispatched its last event

	connected atomic.Bool // written under mu
	received  atomic.Uint64
	logged    atomic.Bool // that notices are lost
	begun     bool        // the first attempt to connect has ended; only the library's calls use it

	mu     sync.Mutex
	closed bool
	subs   []*nats.Subscription
	active sync.WaitGroup // goroutines of subscriptions, and the outbox's
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
	c := &Conn{opts: o.withDefaults(), ended: make(chan struct{})}
	c.out = newOutbox(c.opts.MaxQueued, c.opts.MaxQueuedBytes)
	nc, err := nats.Connect(c.opts.URL, c.natsOptions()...)
	if err != nil {
		return nil, &api.Error{
			Problem: api.Invalid, Subject: "NATS server " + c.opts.Redacted(), What: c.opts.Explain(err),
			Tried: "connecting", Next: "set a URL such as nats://127.0.0.1:4222, or none to do without NATS",
		}
	}
	c.nc = nc
	c.refresh(nc)
	c.active.Go(func() { c.out.run(nc.Publish) })
	return c, nil
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

// Subscribe calls take with the data of each notice on the subject, one at a
// time. When it returns, either the server has confirmed, or it is not reachable, or slow,
// and the subscription is made once it answers. take may keep data.
func (c *Conn) Subscribe(subject string, take func(data []byte)) error {
	return c.subscribeAll(func(m *nats.Msg) { take(m.Data) }, subject)
}

// SubscribeNamed is Subscribe for a subject that ends in the publisher's name, and for one without
// it: to where subject leads for [Anyone] and for "". take gets the token of the name as well, ""
// where there is none.
func (c *Conn) SubscribeNamed(subject func(publisher string) string, take func(publisher string, data []byte)) error {
	plain := subject("")
	return c.subscribeAll(func(m *nats.Msg) {
		take(strings.TrimPrefix(strings.TrimPrefix(m.Subject, plain), "."), m.Data)
	}, plain, subject(Anyone))
}

func (c *Conn) subscribeAll(take func(*nats.Msg), subjects ...string) error {
	for _, subject := range subjects {
		if err := c.subscribe(subject, take); err != nil {
			return fmt.Errorf("subscribing to %s: %w", subject, err)
		}
	}
	return c.confirm(subjects[0])
}

// confirm waits until the server has made the subscriptions so far; the error names the given one.
func (c *Conn) confirm(subject string) error {
	if !c.nc.IsConnected() {
		return nil
	}
	// Without it the server may not know of the subscription yet. A server too slow to
	// confirm gets it all the same, later, and so does the one that is reached after it
	// was lost: only hints are lost meanwhile.
	if err := c.nc.FlushTimeout(flushTimeout); err != nil && c.nc.IsClosed() {
		return fmt.Errorf("confirming the subscription to %s: %w", subject, err)
	}
	return nil
}

func (c *Conn) subscribe(subject string, take func(*nats.Msg)) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return ErrClosed
	}
	sub, err := c.nc.Subscribe(subject, func(m *nats.Msg) {
		c.received.Add(1)
		take(m)
	})
	if err != nil {
		return err
	}
	c.active.Add(1)
	sub.SetClosedHandler(func(string) { c.active.Done() })
	c.subs = append(c.subs, sub)
	return sub.SetPendingLimits(c.opts.MaxPending, c.opts.MaxPendingBytes)
}

// Stats returns the counts now.
func (c *Conn) Stats() Stats {
	s := Stats{
		Connected:  c.connected.Load(),
		Received:   c.received.Load(),
		Reconnects: c.nc.Stats().Reconnects,
	}
	s.Queued, s.Published, s.Unsent = c.out.counts()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, sub := range c.subs {
		if n, err := sub.Dropped(); err == nil {
			s.Overrun += uint64(n) //nolint:gosec // a count
		}
	}
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
		c.nc.Close()
	}
	c.mu.Unlock()
	c.active.Wait()
	<-c.ended
	return nil
}

// refresh updates Connected and reports a change.
func (c *Conn) refresh(nc *nats.Conn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := !c.closed && nc.IsConnected()
	if c.connected.Swap(now) != now {
		c.opts.OnState(now)
	}
	return now
}

// unreached, changed and fault are called by the library, one at a time.

// unreached logs why the first attempt to connect failed: a server that refuses this daemon needs
// another remedy than one that does not run.
func (c *Conn) unreached(_ *nats.Conn, err error) {
	if !c.begun {
		c.begun = true
		c.opts.Log.Warn("NATS is not reachable; notices go by Thrift until it is", "url", c.opts.Redacted(), "error", c.opts.Explain(err))
	}
}

func (c *Conn) changed(nc *nats.Conn, err error) {
	c.begun = true
	before := c.connected.Load()
	switch now := c.refresh(nc); {
	case now && !before:
		c.opts.Log.Info("NATS is reachable", "url", Redact(nc.ConnectedUrl()))
	case before && !now:
		c.opts.Log.Warn("NATS was lost; notices go by Thrift until it is back", "url", c.opts.Redacted(), "error", err)
	}
}

// fault logs the first of a kind of trouble that repeats quickly; Stats has the
// counts.
func (c *Conn) fault(_ *nats.Conn, sub *nats.Subscription, err error) {
	if c.logged.Swap(true) {
		return
	}
	subject := ""
	if sub != nil {
		subject = sub.Subject
	}
	c.opts.Log.Warn("notices are being lost; the metrics count them, this is logged once", "subject", subject, "error", err)
}
