package server

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/thrift/frame"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// handshake is the first byte of every TLS connection: the type of its first record.
const handshake = 0x16

// secure makes the handshake of TLS, where the server has it, in the connection's own goroutine.
// It reports whether calls may follow.
func (c *conn) secure(ctx context.Context) (bool, Reason, error) {
	if c.server.tls == nil {
		return true, Finished, nil
	}
	_ = c.socket.SetDeadline(time.Now().Add(c.server.opts.HandshakeTimeout))
	var first [1]byte
	switch _, err := io.ReadFull(c.socket, first[:]); {
	case errors.Is(err, io.EOF): // a probe of the port
		return false, Finished, nil
	case err != nil:
		return false, Unsecured, c.unfinished(err)
	case first[0] != handshake && isLocal(c.socket):
		// A caller on this machine that knows no TLS, such as an executor or a backend: no
		// other process can read along, and the kernel identifies it.
		_ = c.socket.SetDeadline(time.Time{})
		c.net = &begun{c.socket, first[:]}
		return true, Finished, nil
	case first[0] != handshake:
		return false, Unsecured, c.answerClear(ctx, first[:])
	}
	secured := tls.Server(&begun{c.socket, first[:]}, c.server.tls)
	if err := secured.HandshakeContext(ctx); err != nil {
		return false, Unsecured, c.unfinished(err)
	}
	_ = c.socket.SetDeadline(time.Time{})
	c.net = secured
	return true, Finished, nil
}

// isLocal reports whether both ends of a connection are on loopback.
func isLocal(c net.Conn) bool {
	for _, a := range []net.Addr{c.LocalAddr(), c.RemoteAddr()} {
		if t, ok := a.(*net.TCPAddr); !ok || !t.IP.IsLoopback() {
			return false
		}
	}
	return true
}

// unfinished explains the error of a handshake.
func (c *conn) unfinished(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("the handshake of TLS was not complete after %v", c.server.opts.HandshakeTimeout)
	}
	return fmt.Errorf("the handshake of TLS failed: %w", err)
}

// begun is a connection whose first bytes were read already.
type begun struct {
	net.Conn
	first []byte
}

func (b *begun) Read(p []byte) (int, error) {
	if len(b.first) == 0 {
		return b.Conn.Read(p)
	}
	n := copy(p, b.first)
	b.first = b.first[n:]
	return n, nil
}

// NetConn returns the connection, as that of tls.Conn does.
func (b *begun) NetConn() net.Conn { return b.Conn }

// errClear is the refusal of a call in clear by a server that speaks TLS.
func (s *Server) errClear() error {
	return &api.Error{
		Problem: api.Denied, Subject: s.opts.Name, What: "the server speaks TLS, and the call came in clear", Tried: "reading the call",
		Next: "set tls_ca (daemons), --tls-ca or PIGEON_TLS_CA (clients)",
	}
}

// answerClear answers a call in clear, so that its caller learns what is wrong. It returns why
// the connection ends.
func (c *conn) answerClear(ctx context.Context, first []byte) error {
	c.reader = frame.NewReader(io.MultiReader(bytes.NewReader(first), c.socket), c.server.opts.MaxFrame, c.server.budget)
	if _, err := c.reader.Size(); err != nil {
		return fmt.Errorf("the caller does not speak TLS: %w", err)
	}
	body, err := c.reader.Begin()
	if err != nil {
		return fmt.Errorf("the caller does not speak TLS: %w", err)
	}
	head, err := frame.ParseHeader(body)
	if err != nil {
		return fmt.Errorf("the caller does not speak TLS: %w", err)
	}
	refusal := c.server.errClear()
	kind, answer, _ := wire.Refused(string(head.Name), refusal)
	c.transport.Load(nil)
	if _, err := c.write(ctx, head, kind, answer); err != nil {
		return fmt.Errorf("%w; it does not read that: %w", refusal, err)
	}
	return refusal
}

// clearAlert is what TLS answers to a version that it does not speak.
var clearAlert = []byte{0x15, 3, 3, 0, 2, 2, 70}

// sayClear tells a caller that began with TLS that the server speaks in clear.
func (c *conn) sayClear(err error) {
	if over, ok := errors.AsType[*frame.OversizeError](err); ok && over.Guess == "TLS" && c.server.tls == nil {
		_ = c.socket.SetWriteDeadline(time.Now().Add(c.server.opts.WriteTimeout))
		_, _ = c.socket.Write(clearAlert) // it may have gone
	}
}
