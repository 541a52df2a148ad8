package guard

import (
	"encoding/binary"
	"os"
	"os/signal"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// pidOffset is where siginfo_t, as waitid fills it, holds the pid: after three
// ints, at the alignment of a pointer.
const pidOffset = 8 + int(unsafe.Sizeof(uintptr(0)))

// endedChild returns a child that has ended and leaves it a zombie, so that its pid, and
// the process group of that number, cannot be reused before the group has been killed. It
// returns 0 when no child has ended.
func endedChild() int {
	for {
		var info unix.Siginfo
		err := unix.Waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return 0
		}
		raw := (*[unsafe.Sizeof(info)]byte)(unsafe.Pointer(&info))
		return int(int32(binary.NativeEndian.Uint32(raw[pidOffset:])))
	}
}

// exits is the source of all pidfds: children have ended.
type exits struct{ s *server }

func (e exits) ready(uint32) { e.s.exits = true }

// watch has the loop reap a process when it has ended.
func (s *server) watch(c *child) {
	if c.pidfd >= 0 {
		var err error
		if c.key, err = s.poll.watch(c.pidfd, unix.EPOLLIN, exits{s}); err == nil {
			return
		}
		c.closePidfd()
	}
	s.listen()
}

// unwatch ends that.
func (s *server) unwatch(c *child) {
	if c.pidfd >= 0 {
		s.poll.forget(c.key)
		c.closePidfd()
	}
}

func (c *child) closePidfd() {
	if c.pidfd >= 0 {
		_ = unix.Close(c.pidfd)
		c.pidfd = -1
	}
}

// listen has children reaped whenever the signal of an end is received, from now on. Linux before
// 5.3 has no pidfds that can be waited for; each signal costs several wake-ups of threads.
func (s *server) listen() {
	if s.signaled {
		return
	}
	s.signaled = true
	ends := make(chan os.Signal, 1)
	signal.Notify(ends, syscall.SIGCHLD)
	go func() {
		for range ends {
			s.poll.post(s.reap)
		}
	}()
	s.poll.post(s.reap) // for those that ended before
}

// reapPid reaps one ended child.
func reapPid(pid int) {
	for {
		if _, err := syscall.Wait4(pid, nil, 0, nil); err != syscall.EINTR {
			return
		}
	}
}
