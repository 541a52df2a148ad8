package guard

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// readAtOnce is how much is read from a client before other sources are served.
const readAtOnce = 64 << 10

// link is the connection of a guard to its client, a socket that does not block. Only the loop
// touches it.
type link struct {
	s   *server
	fd  int
	key uint64 // in the poller

	in  []byte // what was received of requests that are not complete
	out []byte // events to be sent: two for each process, and those of its input
	// waits is set while the socket has no room for what is in out.
	waits bool
}

// newLink serves a client at the socket; received has been read from it already.
func newLink(s *server, fd int, received []byte) (*link, error) {
	l := &link{s: s, fd: fd, in: received}
	err := unix.SetNonblock(fd, true)
	if err == nil {
		l.key, err = s.poll.watch(fd, unix.EPOLLIN, l)
	}
	return l, err
}

// close ends the connection.
func (l *link) close() {
	l.s.poll.forget(l.key)
	_ = unix.Close(l.fd) // the client is gone, or is no client
}

// put adds an event to those that flush sends.
func (l *link) put(e *Event) {
	out, err := appendFrame(l.out, e)
	if err != nil {
		l.fail()
		return
	}
	l.out = out
}

// gathers reports whether there are events that flush could send.
func (l *link) gathers() bool { return len(l.out) > 0 && !l.waits }

// flush sends what is there, without waiting.
func (l *link) flush() {
	if l.waits {
		return
	}
	for len(l.out) > 0 {
		n, err := unix.Write(l.fd, l.out)
		switch {
		case err == unix.EINTR:
		case err == unix.EAGAIN:
			l.waits = l.expect(unix.EPOLLIN | unix.EPOLLOUT)
			return
		case err != nil:
			l.fail()
			return
		default:
			l.out = l.out[:copy(l.out, l.out[n:])]
		}
	}
	if cap(l.out) > readAtOnce {
		l.out = nil
	}
}

// expect waits for these events of the socket from now on.
func (l *link) expect(events uint32) bool {
	if l.s.poll.change(l.fd, events, l.key) != nil {
		l.fail()
		return false
	}
	return true
}

// fail makes the client's end known as if it had ended the connection.
func (l *link) fail() {
	l.out = nil
	_ = unix.Shutdown(l.fd, unix.SHUT_RDWR) // the next read is the end of the file
}

// ready implements source.
func (l *link) ready(events uint32) {
	if events&unix.EPOLLOUT != 0 && l.waits {
		l.waits = false
		_ = l.expect(unix.EPOLLIN)
		l.flush()
	}
	if events&^unix.EPOLLOUT != 0 && !l.receive() {
		l.s.clientGone()
	}
}

// receive handles the requests that are there. It reports whether the client is.
func (l *link) receive() bool {
	had := len(l.in)
	if cap(l.in)-had < readAtOnce {
		l.in = append(make([]byte, 0, 2*(had+readAtOnce)), l.in...)
	}
	n, err := unix.Read(l.fd, l.in[had:cap(l.in)])
	switch {
	case err == unix.EAGAIN || err == unix.EINTR:
		return true
	case err != nil || n == 0:
		return false
	}
	l.in = l.in[:had+n]
	if err := l.handle(); err != nil {
		fmt.Fprintf(os.Stderr, "pigeon %s: a request of the node monitor cannot be read: %v; its connection is closed as if it had ended, and tasks that no other one can take over are killed; report this\n", Verb, err)
		return false
	}
	return true
}

// handle handles the complete requests of those that were received.
func (l *link) handle() error {
	rest := l.in
	for {
		message, more, err := cutFrame(rest)
		if err != nil {
			return err
		}
		if message == nil {
			break
		}
		rest = more
		var r request
		if err := decode(&r, message); err != nil {
			return err
		}
		l.s.handle(&r)
	}
	l.in = l.in[:copy(l.in, rest)]
	if len(rest) == 0 && cap(l.in) > 4*readAtOnce {
		l.in = nil
	}
	return nil
}
