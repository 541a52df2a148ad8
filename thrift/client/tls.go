package client

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"

	"github.com/apache/thrift/lib/go/thrift"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/thrift/frame"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// generation returns the number of the certificates that hold now.
func (s Security) generation() uint64 {
	if s.Generation == nil {
		return 0
	}
	return s.Generation()
}

// socketOf returns the socket of a connection, below its TLS.
func socketOf(nc net.Conn) net.Conn {
	if t, ok := nc.(*tls.Conn); ok {
		return t.NetConn()
	}
	return nc
}

// handshakeError is why there is no TLS connection.
type handshakeError struct{ err error }

func (e *handshakeError) Error() string { return "TLS: " + e.err.Error() }
func (e *handshakeError) Unwrap() error { return e.err }

// secure makes the handshake of TLS over a new connection and proves the caller's identity.
// It closes the connection when that fails.
func (p *Pool) secure(ctx context.Context, nc net.Conn) (net.Conn, error) {
	secured := nc
	if p.opts.Security.TLS != nil {
		t := tls.Client(nc, p.opts.Security.TLS)
		if err := t.HandshakeContext(ctx); err != nil {
			_ = nc.Close() // the handshake says why
			return nil, &handshakeError{err}
		}
		secured = t
	}
	if err := p.prove(ctx, secured); err != nil {
		_ = nc.Close() // as above
		return nil, err
	}
	return secured, nil
}

// prove makes the first call of a connection: the one that proves the caller's identity by a token.
// In clear no token leaves this machine, and on it the kernel names the caller as well: a token
// that the other side does not accept, since it is for another cluster, changes nothing there.
func (p *Pool) prove(ctx context.Context, nc net.Conn) error {
	if p.opts.Security.Token == nil {
		return nil
	}
	inClear := p.opts.Security.TLS == nil
	if inClear && !isLoopback(nc.RemoteAddr()) {
		return nil
	}
	token, err := p.opts.Security.Token()
	if err != nil || token == "" {
		return err
	}
	if until, ok := ctx.Deadline(); ok {
		_ = nc.SetDeadline(until)
	}
	defer context.AfterFunc(ctx, func() { _ = nc.SetDeadline(longAgo) })()
	_, err = wire.NewIdentityClient(newExchange(nc, p.opts)).Authenticate(ctx, token)
	refusal, refused := errors.AsType[*api.Error](err)
	switch {
	case err == nil:
		return nil
	case refused && refusal.Problem == api.Invalid: // the other side does not know the method: it identifies no caller
		return nil
	case refused && refusal.Problem == api.Denied && inClear:
		return nil
	}
	return err
}

// isLoopback reports whether a connection leads to this machine itself.
func isLoopback(a net.Addr) bool {
	t, ok := a.(*net.TCPAddr)
	return ok && t.IP.IsLoopback()
}

// exchange makes calls on a connection that no pool has yet.
type exchange struct {
	nc     net.Conn
	reader *frame.Reader
	client thrift.TClient
}

func newExchange(nc net.Conn, o Options) *exchange {
	x := &exchange{nc: nc, reader: frame.NewReader(nc, o.MaxFrame, nil)}
	proto := frame.NewTransport(x, o.MaxFrame).Protocol(o.MaxElements)
	x.client = thrift.NewTStandardClient(proto, proto)
	return x
}

// Do implements wire.Caller.
func (x *exchange) Do(ctx context.Context, call func(context.Context, thrift.TClient) error) error {
	return call(ctx, x.client)
}

// Send implements frame.Link.
func (x *exchange) Send(b []byte) error {
	_, err := x.nc.Write(b)
	return err
}

// Next implements frame.Link.
func (x *exchange) Next() ([]byte, error) {
	x.reader.Release()
	if _, err := x.reader.Size(); err != nil {
		return nil, opaque{err}
	}
	b, err := x.reader.Body()
	if err != nil {
		return nil, opaque{err}
	}
	return b, nil
}

// unsecured fills in the parts of an error about the identity of either end, and reports
// whether it is one.
func unsecured(parts *api.Error, cause error) bool {
	if refusal, ok := errors.AsType[*api.Error](cause); ok && refusal.Problem == api.Denied {
		*parts = *refusal
		return true
	}
	failed, ok := errors.AsType[*handshakeError](cause)
	if !ok || errors.Is(cause, context.Canceled) || errors.Is(cause, context.DeadlineExceeded) {
		return false
	}
	parts.Tried = "connecting by TLS"
	_, strange := errors.AsType[tls.RecordHeaderError](failed.err)
	switch {
	case strange || saysClear(failed.err):
		parts.Problem, parts.What = api.Invalid, "the other side does not speak TLS 1.3"
		parts.Next = "set tls_ca, tls_cert and tls_key at the daemon, or leave out tls_ca (--tls-ca, PIGEON_TLS_CA) here"
	case errors.Is(failed.err, io.EOF), errors.Is(failed.err, io.ErrUnexpectedEOF), errors.Is(failed.err, syscall.ECONNRESET), errors.Is(failed.err, os.ErrDeadlineExceeded):
		parts.What = fmt.Sprintf("the connection ended within the handshake of TLS: %v", failed.err)
		parts.Next = "try again; if this stays, the other side may not speak TLS: set tls_ca, tls_cert and tls_key at the daemon"
	default:
		parts.Problem, parts.What = api.Denied, failed.Error()
		parts.Next = "check that tls_ca (--tls-ca, PIGEON_TLS_CA) is the authority of this cluster, that the address is that of the daemon which is called, and the clocks of both machines"
	}
	return true
}

// saysClear reports whether the other side answered with the alert protocol_version, which a server
// of Pigeon sends that speaks in clear. The type of a received alert is crypto/tls's own.
func saysClear(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "remote error" && op.Err != nil && op.Err.Error() == tls.AlertError(70).Error()
}
