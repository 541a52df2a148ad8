package client

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"github.com/apache/thrift/lib/go/thrift"

	"github.com/pigeon-sched/pigeon/thrift/frame"
)

// conn is one connection slot of a pool; it is dialled when its first call is written.
// The goroutine in do owns it, except for the fields that mu guards.
type conn struct {
	pool      *Pool
	reader    *frame.Reader
	transport *frame.Transport
	client    thrift.TClient
	stale     staleCheck
	since     time.Time // idle since; guarded by the pool's mutex

	// Of the call in flight.
	ctx      context.Context
	deadline time.Time
	sent     bool  // a byte was written
	awaiting bool  // the call was sent, and its reply has not been read
	err      error // the reason why there is no answer

	generation uint64 // of the certificates when it was dialled

	mu      sync.Mutex
	net     net.Conn // nil before the first dial and after close
	socket  net.Conn // net, or the connection below its TLS: its Close does not wait
	stopped error    // the reason why the call was interrupted
}

func newConn(p *Pool) *conn {
	c := &conn{pool: p}
	c.reader = frame.NewReader(c, p.opts.MaxFrame, p.memory)
	c.transport = frame.NewTransport(c, p.opts.MaxFrame)
	proto := c.transport.Protocol(p.opts.MaxElements)
	c.client = thrift.NewTStandardClient(proto, proto)
	return c
}

// do runs call and reports whether the connection can serve another.
func (c *conn) do(ctx context.Context, deadline time.Time, call func(context.Context, thrift.TClient) error) (clean bool, err error) {
	c.ctx, c.deadline, c.sent, c.awaiting, c.err = ctx, deadline, false, false, nil
	c.transport.Load(nil)
	unhook := func() bool { return true }
	if ctx.Done() != nil {
		unhook = context.AfterFunc(ctx, func() { c.interrupt(ctx.Err()) })
	}
	err = call(ctx, c.client)
	undisturbed := unhook()
	c.reader.Release()
	whole := isReply(err) || c.unsent(err)
	clean = undisturbed && c.err == nil && !c.awaiting && whole &&
		c.transport.RemainingBytes() == 0 && c.reader.Buffered() == 0
	return clean && c.usable(), c.translate(err)
}

// translate converts the error of a call without an answer into a CallError.
func (c *conn) translate(err error) error {
	if err == nil {
		return nil
	}
	var te thrift.TException
	switch {
	case c.err != nil:
		c.pool.note(func(s *Stats) { s.Failed++ })
		return c.pool.failure(c.err, c.sent, c.tried())
	case isReply(err) || !errors.As(err, &te):
		return err
	case c.unsent(err):
		return c.pool.failure(err, false, "writing the call")
	case c.sent:
		c.pool.note(func(s *Stats) { s.Failed++ })
		return c.pool.failure(fmt.Errorf("%w: %w", errReply, err), true, "reading the reply")
	}
	return err
}

// unsent reports whether err refused to write a call that is too large, which
// leaves the connection as it was.
func (c *conn) unsent(err error) bool { return !c.sent && errors.Is(err, frame.ErrTooLarge) }

func (c *conn) tried() string {
	if c.sent {
		return "waiting for the reply"
	}
	return "connecting"
}

// Send implements frame.Link. Only here is a connection dialled or replaced, and
// only before its first byte.
func (c *conn) Send(b []byte) error {
	if err := c.connect(); err != nil {
		return c.fail(err)
	}
	n, err := c.Write(b)
	if err != nil && n == 0 && c.reusable(err) {
		c.close()
		c.pool.note(func(s *Stats) { s.Stale++ })
		if err := c.connect(); err != nil {
			return c.fail(err)
		}
		n, err = c.Write(b)
	}
	c.sent = c.sent || n > 0
	if err != nil {
		return c.fail(err)
	}
	c.awaiting = true
	return nil
}

// reusable reports whether a write that failed without a byte may go to a fresh
// connection: the peer is at fault, not the time.
func (c *conn) reusable(err error) bool {
	return !c.sent && !errors.Is(err, os.ErrDeadlineExceeded)
}

// Next implements frame.Link: the reply.
func (c *conn) Next() ([]byte, error) {
	c.reader.Release()
	if err := c.reader.Wait(); err != nil {
		return nil, c.fail(err)
	}
	if _, err := c.reader.Size(); err != nil {
		return nil, c.fail(err)
	}
	b, err := c.reader.Body()
	if err != nil {
		return nil, c.fail(err)
	}
	if len(b) > 0 {
		c.awaiting = false
	}
	return b, nil
}

// connect makes sure that there is a connection which the peer has not closed.
func (c *conn) connect() error {
	if c.arm() {
		if c.awaiting || c.sent || c.current() && !c.stale.peerClosed() {
			return nil
		}
		c.close()
		c.pool.note(func(s *Stats) { s.Stale++ })
	}
	c.generation = c.pool.opts.Security.generation() // before: a change meanwhile is seen as one
	nc, err := c.pool.dial(c.ctx, c.deadline)
	if err != nil {
		return err
	}
	c.mu.Lock()
	c.net, c.socket = nc, socketOf(nc)
	c.mu.Unlock()
	c.stale.watch(c.socket)
	c.arm()
	return nil
}

// current reports whether the connection was made with the certificates that hold now.
func (c *conn) current() bool { return c.generation == c.pool.opts.Security.generation() }

// arm returns the connection the deadline of the call; false without a connection.
func (c *conn) arm() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.net == nil {
		return false
	}
	until := c.deadline
	if c.stopped != nil {
		until = longAgo
	}
	_ = c.net.SetDeadline(until)
	return true
}

// longAgo is a deadline that has passed.
var longAgo = time.Unix(1, 0)

// interrupt ends the call in flight from another goroutine.
func (c *conn) interrupt(why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped = why
	if c.net != nil {
		_ = c.net.SetDeadline(longAgo)
	}
}

// usable reports whether there is a connection that was not interrupted.
func (c *conn) usable() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.net != nil && c.stopped == nil
}

// close reports whether there was a connection to close.
func (c *conn) close() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.net == nil {
		return false
	}
	_ = c.socket.Close()
	c.net, c.socket = nil, nil
	return true
}

// fail keeps why the call got no answer, and hides it from the library, which would
// continue to read after a timeout as long as its context lives.
func (c *conn) fail(err error) error {
	c.mu.Lock()
	stopped := c.stopped
	c.mu.Unlock()
	switch {
	case stopped != nil:
		err = stopped
	case errors.Is(err, os.ErrDeadlineExceeded):
		err = context.DeadlineExceeded
	}
	c.err = err
	return opaque{err}
}

// opaque is an error that cannot be looked into.
type opaque struct{ err error }

func (o opaque) Error() string { return o.err.Error() }

// Read and Write are for the frames; the connection is there by then.
func (c *conn) Read(b []byte) (int, error)  { return c.net.Read(b) }
func (c *conn) Write(b []byte) (int, error) { return c.net.Write(b) }
