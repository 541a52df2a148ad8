//go:build unix

package client

import (
	"errors"
	"net"
	"syscall"
)

// staleCheck finds out, without waiting, whether the peer closed an idle
// connection, or sent something without a request. A connection that cannot be
// checked counts as usable.
type staleCheck struct {
	raw  syscall.RawConn
	look func(fd uintptr) bool
	is   bool
}

func (s *staleCheck) watch(nc net.Conn) {
	s.raw = nil
	sc, ok := nc.(syscall.Conn)
	if !ok {
		return
	}
	s.raw, _ = sc.SyscallConn()
	s.look = func(fd uintptr) bool {
		var b [1]byte
		_, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		s.is = !errors.Is(err, syscall.EAGAIN)
		return true
	}
}

func (s *staleCheck) peerClosed() bool {
	if s.raw == nil {
		return false
	}
	s.is = false
	return s.raw.Read(s.look) == nil && s.is
}
