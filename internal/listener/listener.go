// Package listener listens on TCP addresses that are free again when the listener is closed, and reserves ports.
//
// A process that starts another has a copy of its own descriptors in the child for the moment
// between fork and exec. A listener that is closed in that moment still listens there, and the
// next process that listens on its address, a restarted daemon, is refused.
package listener

import (
	"fmt"
	"net"
	"sync/atomic"
	"syscall"
)

type listener struct {
	*net.TCPListener
	closed atomic.Bool
}

// Listen listens on host:port. Close of the listener ends the listening in all copies of it, and
// Accept returns net.ErrClosed from then on.
func Listen(address string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	return &listener{TCPListener: l.(*net.TCPListener)}, nil //nolint:forcetypeassert // by the network "tcp"
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	c, err := l.TCPListener.Accept()
	if err != nil && l.closed.Load() {
		return nil, fmt.Errorf("accept on %s: %w", l.Addr(), net.ErrClosed)
	}
	return c, err
}

// Close implements net.Listener.
func (l *listener) Close() error {
	if !l.closed.Swap(true) {
		if raw, err := l.SyscallConn(); err == nil {
			_ = raw.Control(func(fd uintptr) { _ = syscall.Shutdown(int(fd), syscall.SHUT_RDWR) }) //nolint:gosec // a descriptor; where it cannot be shut down, Close has to do
		}
	}
	return l.TCPListener.Close()
}
