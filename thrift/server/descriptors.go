package server

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// mostLeft is the most file descriptors that are left to the daemon's own work, three eighths of a low limit: where
// all daemons are one process, a caller that reads an output costs three of them.
const mostLeft = 256

// tookOneOfTheLast reports whether a connection took one of the last file descriptors of this process: a new one
// always has the lowest number that is free.
func tookOneOfTheLast(nc net.Conn) (last bool) {
	var limit unix.Rlimit
	sc, ok := nc.(syscall.Conn)
	if !ok || unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) != nil {
		return false
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return false
	}
	_ = raw.Control(func(fd uintptr) { last = uint64(fd) >= limit.Cur-min(3*limit.Cur/8, mostLeft) })
	return last
}
