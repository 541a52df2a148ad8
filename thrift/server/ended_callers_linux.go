package server

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// hasGone reports, without waiting, whether the other end of a connection has been closed. What it
// sent before, such as the alert that ends TLS, may not have been read yet.
func hasGone(socket net.Conn) (gone bool) {
	s, ok := socket.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return false
	}
	_ = raw.Control(func(fd uintptr) { // a connection that is closed here has no caller to look for
		ended := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}} //nolint:gosec // a descriptor
		n, err := unix.Poll(ended, 0)
		gone = err == nil && n > 0
	})
	return gone
}
