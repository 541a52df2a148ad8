package guard

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// child is one attempt's process. Only the server's loop touches it, except for what a stream has
// left to a goroutine.
type child struct {
	handle Handle
	mark   string
	spec   *Spec

	confined confinement // from the fork on
	birth    *birth      // nil when it has become its program
	reused   bool        // its folder is Spec.Spare
	busy     int         // how often its program was being written when it was to be run

	pid     int    // 0 before the fork; also the number of its session and group
	pidfd   int    // readable from its end on; -1 where the kernel has none
	key     uint64 // of the pidfd in the poller
	started time.Time
	killed  bool // Kill came before the end
	forced  bool // the grace after it is over
	held    bool // suspended
	grace   *time.Timer

	heldSince  time.Time     // while it is suspended
	heldBefore time.Duration // how long it was suspended before

	exited      bool        // and nothing is left of the group
	final       *Event      // its last event, while no client has received it
	event       Event       // Ended, filled in bit by bit from the exit on
	input       *input      // nil for a process that takes none
	streams     [2]stream   // stdout and stderr
	open        int         // what is awaited after the exit: the ends of the streams, the use of a cgroup
	pipeTimeout *time.Timer // closes the pipes
}

// fork starts the process, which becomes its program later: birth.
func (c *child) fork(s *server, p *plan) error {
	stdin := s.null
	if c.spec.Stdin {
		own, err := c.openInput()
		if err != nil {
			return err
		}
		defer func() { _ = unix.Close(own) }() // the child has its copy
		stdin = own
	}
	read, ends, err := pipes()
	if err != nil {
		c.closeInput()
		return err
	}
	c.started = time.Now()
	c.confined = p.confined
	c.birth = &birth{s: s, c: c}
	err = c.birth.begin(p, [...]int{stdin, ends[0], ends[1]}, s.signals, !s.signaled)
	c.confined.begun()
	for _, fd := range ends {
		_ = unix.Close(fd) // the child has its copies
	}
	if err != nil {
		c.closeInput()
		_, _ = unix.Close(read[0]), unix.Close(read[1])
		c.closePidfd()
		return err
	}
	c.streams[0].fd, c.streams[1].fd = read[0], read[1]
	return nil
}

// pipes returns a pipe for each output: their reading ends, and their writing ends.
func pipes() (read, write [2]int, err error) {
	for i := range read {
		if read[i], write[i], err = pipe(); err != nil {
			if i > 0 {
				_, _ = unix.Close(read[0]), unix.Close(write[0])
			}
			return read, write, err
		}
	}
	return read, write, nil
}

// pipe returns a pipe whose reading end can be polled and whose writing end
// blocks, as programs expect of their output.
func pipe() (read, write int, err error) {
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		return 0, 0, err
	}
	if _, err := unix.FcntlInt(uintptr(fds[0]), unix.F_SETFL, unix.O_NONBLOCK); err != nil {
		_, _ = unix.Close(fds[0]), unix.Close(fds[1])
		return 0, 0, err
	}
	return fds[0], fds[1], nil
}

// signal reaches the whole group. Its number stays taken while its leader is not
// reaped or another member lives; after that c.exited is set. A process that has not become its program
// may have no group yet.
func (c *child) signal(s syscall.Signal) {
	switch {
	case c.pid == 0 || c.exited:
	case c.birth != nil:
		_ = syscall.Kill(c.pid, s) // it is not reaped
	default:
		_ = syscall.Kill(-c.pid, s) // the group may have ended by itself
	}
}

// hold records whether the attempt is suspended.
func (c *child) hold(held bool) {
	switch {
	case held && !c.held:
		c.heldSince = time.Now()
	case !held && c.held:
		c.heldBefore += time.Since(c.heldSince)
	}
	c.held = held
}

// groupAlive reports whether the group has a member, dead but unburied ones included.
func (c *child) groupAlive() bool { return syscall.Kill(-c.pid, 0) == nil }
