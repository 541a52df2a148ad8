package server

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"github.com/apache/thrift/lib/go/thrift"

	"github.com/pigeon-sched/pigeon/internal/listener"
	"github.com/pigeon-sched/pigeon/thrift/frame"
)

// conn is one connection. The goroutine in run owns all but the state.
type conn struct {
	server    *Server
	socket    net.Conn      // to end it; its Close does not wait
	net       net.Conn      // to read and write: the socket, or TLS over it
	host      string        // key of the cap per address
	claimed   string        // key of the cap per caller; the registry's lock guards it, and the next field
	stranger  *list.Element // among those whose callers have proven nothing; nil for others
	reader    *frame.Reader
	transport *frame.Transport
	protocol  thrift.TProtocol
	idleUntil time.Time
	sendErr   error // why a reply was not sent
	cut       bool  // the message has only its beginning: nothing is kept of a large one whose caller has proven nothing
	caller    caller
	leave     context.CancelFunc // ends the context of calls; set before the first one

	mu        sync.Mutex
	busy      bool // a call runs or its reply is written
	looked    bool // endIfGone has seen the call that runs
	stopping  bool // no further call begins
	displaced bool // another connection has its place
}

func newConn(s *Server, nc net.Conn) *conn {
	return &conn{server: s, socket: nc, net: nc, host: listener.Source(nc.RemoteAddr())}
}

// run serves the connection to its end.
func (c *conn) run(calls context.Context) {
	defer c.server.conns.remove(c)
	defer c.socket.Close() //nolint:errcheck // nothing is owed to the peer any more
	calls, c.leave = context.WithCancel(calls)
	defer c.leave()
	c.transport = frame.NewTransport(c, c.server.opts.MaxFrame)
	c.protocol = c.transport.Protocol(c.server.opts.MaxElements)

	secured, why, err := c.secure(calls)
	if secured {
		c.reader = frame.NewReader(c.net, c.server.opts.MaxFrame, c.server.budget)
		defer c.reader.Release()
		c.identify(WithRemote(calls, c.socket.RemoteAddr()))
		why, err = c.serve()
	}
	switch stopped, displaced := c.state(); {
	case displaced:
		why, err = Full, errDisplaced
	case stopped:
		why, err = Finished, nil
	}
	c.server.count.ended[why].Add(1)
	switch why {
	case Vanished, Panicked, Declined, Unproven: // a panic has its own line
	default:
		if err != nil {
			c.server.gate.warn(why, "connection closed", "remote", c.socket.RemoteAddr(), "error", err)
		}
	}
}

// serve answers message after message and returns why it ended.
func (c *conn) serve() (Reason, error) {
	if !c.mayWait() {
		return CallerFull, c.caller.full
	}
	c.idleUntil = time.Now().Add(c.patience())
	for {
		body, why, err := c.read()
		if err != nil || body == nil {
			return why, err
		}
		if !c.begin() {
			return Finished, nil
		}
		why, err = c.call(c.caller.ctx, body)
		c.reader.Release()
		if stop := c.end(); stop || err != nil {
			return why, err
		}
		c.idleUntil = time.Now().Add(c.patience())
	}
}

// errDisplaced is why a connection ended whose place another one has.
var errDisplaced = errors.New("as many connections as may be are open, and its caller has proven nothing; another caller has its place")

// patience is how long the server waits for a message: from a caller that has proven nothing, or whose next call
// will be refused, no longer than for the rest of a frame.
func (c *conn) patience() time.Duration {
	if !c.proven() || c.caller.full != nil {
		return min(c.server.opts.FrameTimeout, c.server.opts.IdleTimeout)
	}
	return c.server.opts.IdleTimeout
}

// read returns the next message; nil without an error when the peer closed between
// frames.
func (c *conn) read() ([]byte, Reason, error) {
	if c.reader.Buffered() == 0 {
		_ = c.net.SetReadDeadline(c.idleUntil)
	}
	if err := c.reader.Wait(); err != nil {
		return c.notWaited(err)
	}
	body, err := c.readFrame()
	switch {
	case err != nil:
		c.sayClear(err)
		return nil, reasonOf(err), c.explain(err)
	case len(body) == 0:
		return nil, Malformed, errEmpty
	}
	return body, Finished, nil
}

// errEmpty ends a connection: no client of Thrift sends an empty frame, and one that did
// would wait for an answer in vain.
var errEmpty = errors.New("a frame of length zero, which holds no message")

// readFrame reads the frame whose first byte is there. Its deadline is one point
// in time, set only when the frame is not complete yet.
func (c *conn) readFrame() ([]byte, error) {
	timed := false
	limit := func(need int) {
		if !timed && c.reader.Buffered() < need {
			_ = c.net.SetReadDeadline(time.Now().Add(c.server.opts.FrameTimeout))
			timed = true
		}
	}
	limit(frame.HeaderSize)
	size, err := c.reader.Size()
	if err != nil {
		return nil, err
	}
	limit(frame.HeaderSize + size)
	if c.cut = !c.proven() && frame.HeaderSize+size > frame.BufferSize; c.cut {
		return c.reader.Begin()
	}
	return c.reader.Body()
}

// notWaited classifies the errors of waiting for a frame.
func (c *conn) notWaited(err error) ([]byte, Reason, error) {
	switch {
	case errors.Is(err, io.EOF):
		return nil, Finished, nil
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, Idle, nil // nothing is wrong, and a metric counts it; a client reconnects when it has a message
	}
	return nil, Vanished, err
}

// explain adds the limit to an error that does not name it.
func (c *conn) explain(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("a frame was not complete %v after its first byte", c.server.opts.FrameTimeout)
	}
	return err
}

// reasonOf classifies the errors of reading a frame.
func reasonOf(err error) Reason {
	var over *frame.OversizeError
	switch {
	case errors.As(err, &over) && over.Guess != "":
		return Malformed
	case errors.As(err, &over):
		return Oversized
	case errors.Is(err, frame.ErrBudget):
		return NoMemory
	case errors.Is(err, os.ErrDeadlineExceeded):
		return Slow
	}
	return Vanished
}

// Next implements frame.Link: a message lies within its frame.
func (c *conn) Next() ([]byte, error) { return frame.Ended() }

// Send implements frame.Link: one write, one deadline over all of it.
func (c *conn) Send(b []byte) error {
	_ = c.net.SetWriteDeadline(time.Now().Add(c.server.opts.WriteTimeout))
	_, c.sendErr = c.net.Write(b)
	return c.sendErr
}

// begin reports whether a call may begin.
func (c *conn) begin() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.busy, c.looked = !c.stopping, false
	return c.busy
}

// end reports whether the call is over, and reports whether to stop.
func (c *conn) end() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.busy = false
	return c.stopping
}

func (c *conn) state() (stopped, displaced bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stopping, c.displaced
}

// displace closes the connection for another one.
func (c *conn) displace() {
	c.mu.Lock()
	c.displaced = true
	c.mu.Unlock()
	c.abort()
}

// finish closes the connection, after the call if one runs.
func (c *conn) finish() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopping = true
	if !c.busy {
		_ = c.socket.Close()
	}
}

// abort closes the connection now.
func (c *conn) abort() { _ = c.socket.Close() }
