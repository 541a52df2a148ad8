package peercred

import (
	"errors"
	"net"
	"net/netip"
)

// ErrUnknown is the error for a connection of whose other end the kernel knows nothing: over a
// network, or on a system that cannot be asked.
var ErrUnknown = errors.New("the kernel does not know whose process is at the other end")

// ErrShort is returned when this process has no descriptor or memory left to ask the kernel: the caller may be
// anyone, and is known when it calls again later.
var ErrShort = errors.New("this daemon has no file descriptor left to ask whose process is at the other end")

// errClosed is the error for a peer that has closed its socket: the kernel does not know any
// more whose it was, and may then report root.
var errClosed = errors.New("the caller has closed its end of the connection, and the kernel does not say any more whose it was")

// UID returns the number of the user whose process opened the socket at the other end of c. The
// error is [ErrUnknown], [ErrShort], or that the other end is closed.
func UID(c net.Conn) (uint32, error) {
	for {
		wrapped, ok := c.(interface{ NetConn() net.Conn })
		if !ok {
			break
		}
		c = wrapped.NetConn()
	}
	if u, ok := c.(*net.UnixConn); ok {
		return ofUnix(u)
	}
	local, remote := address(c.LocalAddr()), address(c.RemoteAddr())
	if !local.Addr().IsLoopback() || !remote.Addr().IsLoopback() {
		return 0, ErrUnknown
	}
	return ofTCP(local, remote)
}

// address returns the address of one end of a TCP connection, an IPv4 one in its own form; the
// zero value for another kind of address.
func address(a net.Addr) netip.AddrPort {
	t, ok := a.(*net.TCPAddr)
	if !ok {
		return netip.AddrPort{}
	}
	ap := t.AddrPort()
	return netip.AddrPortFrom(ap.Addr().Unmap(), ap.Port())
}
