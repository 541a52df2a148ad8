package servertest

import (
	"context"
	"net"
	"sync"
)

// Pipes is a listener whose connections are pipes, so that a client and a server
// can run together in a bubble of fake time, and whose errors a test chooses.
type Pipes struct {
	next   chan accepted
	closed chan struct{}
	once   sync.Once
}

type accepted struct {
	conn net.Conn
	err  error
}

// NewPipes returns a listener that holds up to 64 connections not yet accepted.
func NewPipes() *Pipes {
	return &Pipes{next: make(chan accepted, 64), closed: make(chan struct{})}
}

// Dial connects, whatever the address.
func (p *Pipes) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	return p.DialFrom(ctx, pipeAddr{})
}

// DialFrom connects from an address.
func (p *Pipes) DialFrom(ctx context.Context, from net.Addr) (net.Conn, error) {
	client, peer := net.Pipe()
	select {
	case p.next <- accepted{conn: end{peer, from}}:
		return client, nil
	case <-p.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Fail makes an Accept return err.
func (p *Pipes) Fail(err error) { p.next <- accepted{err: err} }

// Accept returns the dialled connections and injected errors in order.
func (p *Pipes) Accept() (net.Conn, error) {
	select {
	case a := <-p.next:
		return a.conn, a.err
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// Close ends Accept and Dial.
func (p *Pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

// Addr returns the address "pipe".
func (p *Pipes) Addr() net.Addr { return pipeAddr{} }

// end is the server's end of a pipe.
type end struct {
	net.Conn
	remote net.Addr
}

// RemoteAddr implements net.Conn.
func (e end) RemoteAddr() net.Addr { return e.remote }

type pipeAddr struct{}

func (pipeAddr) Network() string { return "pipe" }
func (pipeAddr) String() string  { return "pipe" }
