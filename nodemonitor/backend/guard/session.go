package guard

import (
	"bufio"
	"bytes"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pigeon-sched/pigeon/nodemonitor/backend/cgroup"
)

// session is what connects a guard to its clients, one after another.
//
//	served ──the client is gone──▶ waiting ──another client──▶ served
//	   └──opEnd, no grace──▶ over ◀──the grace is over──┘
type session struct {
	link   *link // nil while there is no client
	served int   // clients so far
	ending bool  // the client ends for good
	over   bool
}

// first serves the client that started this guard, at the socket.
func (s *server) first(socket int) error {
	in := bufio.NewReader(blocking(socket))
	var g greeting
	if err := gob.NewDecoder(in).Decode(&g); err != nil {
		return err
	}
	s.owner, s.token, s.tree = g.Owner, g.Token, cgroup.At(g.Cgroup)
	s.tags = tagsOf(g.Token)
	if g.Grace > 0 {
		l, err := listener()
		if err != nil {
			return err
		}
		s.grace = g.Grace
		go s.accept(l)
	}
	return s.serve(socket, rest(in), nil)
}

// blocking reads from a descriptor that blocks. Unlike a file it never closes it.
type blocking int

func (fd blocking) Read(p []byte) (int, error) {
	for {
		n, err := unix.Read(int(fd), p)
		switch {
		case err == unix.EINTR:
		case err != nil:
			return 0, err
		case n == 0:
			return 0, io.EOF
		default:
			return n, nil
		}
	}
}

// rest returns what a reader has read from a socket and not yet returned.
func rest(in *bufio.Reader) []byte {
	b, _ := in.Peek(in.Buffered())
	return slices.Clone(b)
}

// listener returns the socket for later clients.
func listener() (net.Listener, error) {
	f := os.NewFile(listenFD, "guard-clients")
	defer func() { _ = f.Close() }() // FileListener has its own copy
	return net.FileListener(f)
}

// serve serves a client from now on; received has been read from it already. It sends the first
// bytes.
func (s *server) serve(socket int, received, first []byte) error {
	l, err := newLink(s, socket, received)
	if err != nil {
		_ = unix.Close(socket) // the client sees the end
		return err
	}
	s.link, s.served = l, s.served+1
	l.out = first
	if l.handle() != nil {
		l.fail()
	}
	return nil
}

// tell sends an event to the client, if there is one.
func (s *server) tell(e Event) {
	if s.link != nil {
		s.link.put(&e)
	}
}

// clientGone is called when the connection has ended, however that happened.
func (s *server) clientGone() {
	s.link.close()
	s.link = nil
	if s.over = s.ending || s.grace == 0; s.over {
		return
	}
	served := s.served
	s.poll.after(s.grace, func() { s.over = s.over || s.served == served })
	_ = unix.Dup3(s.null, int(os.Stderr.Fd()), 0) // a reader of the client's error output now reads its end
	for _, c := range s.handles {
		if len(c.spec.Note) == 0 {
			s.kill(c, 0) // no other client would know what it is
		}
	}
}

// accept takes the connections of later clients, of this user only.
func (s *server) accept(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return // the grace ends what is there
		}
		go s.greet(conn)
	}
}

// greet reads the greeting of a client that has connected, and leaves the answer to the
// loop.
func (s *server) greet(conn net.Conn) {
	if peer, err := credentials(conn); err != nil || int(peer.Uid) != os.Getuid() {
		_ = conn.Close() // another user's
		return
	}
	_ = conn.SetDeadline(time.Now().Add(patience)) // fails only on a closed socket, as the read then does
	in := bufio.NewReader(conn)
	var g greeting
	if gob.NewDecoder(in).Decode(&g) != nil {
		_ = conn.Close() // it is no client
		return
	}
	_ = conn.SetDeadline(time.Time{}) // likewise
	until := time.Now().Add(handoverWait)
	s.poll.post(func() { s.arrive(conn, rest(in), g, until) })
}

// handoverWait is how long a client waits for the end of the one before it, whose connection
// may have ended a moment ago.
const handoverWait = time.Second

// arrive serves a client that has connected, or refuses it.
func (s *server) arrive(conn net.Conn, received []byte, g greeting, until time.Time) {
	if s.link != nil && time.Now().Before(until) {
		s.poll.after(10*time.Millisecond, func() { s.arrive(conn, received, g, until) })
		return
	}
	if hasGone(conn) { // it did not wait until this guard, which was stopped, could answer
		_ = conn.Close()
		return
	}
	w := welcome{Version: version, Pid: os.Getpid(), Token: s.token, Last: s.last, Kept: s.kept}
	switch {
	case g.Owner != s.owner:
		w.Refused = fmt.Sprintf("it runs processes of %s", s.owner)
	case s.link != nil:
		w.Refused = "another node monitor is connected to it"
	case g.Version != version:
		w.Refused, w.Ends = fmt.Sprintf("it speaks version %d of the protocol, and this node monitor version %d", version, g.Version), true
	}
	var held []Held
	if w.Refused == "" {
		held = s.held()
		w.Held = len(held)
		if g.Cgroup != s.tree.Root() { // a tree keeps descriptors
			s.tree = cgroup.At(g.Cgroup)
		}
	}
	var first bytes.Buffer
	enc := gob.NewEncoder(&first)
	err := enc.Encode(w)
	for i := range held {
		err = errors.Join(err, enc.Encode(&held[i]))
	}
	if err == nil && w.Refused == "" {
		var socket int
		if socket, err = descriptor(conn); err == nil {
			err = s.serve(socket, received, first.Bytes())
			s.tellLate()
		}
	} else if s.over = s.over || w.Ends; err == nil {
		_ = conn.SetWriteDeadline(time.Now().Add(time.Second)) // fails only on a closed socket
		_, _ = conn.Write(first.Bytes())                       // a client that is gone needs no answer
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "pigeon %s: a node monitor that connected is not served: %v; raise the limit of open files\n", Verb, err)
	}
	_ = conn.Close() // the link has a descriptor of its own
}

// tellLate tells a later client what has been held up.
func (s *server) tellLate() {
	for _, c := range s.handles {
		if c.birth != nil && time.Since(c.started) > lateStart {
			s.tell(Event{Kind: HeldUp, Handle: c.handle})
		}
	}
}

// hasGone reports whether the other end of a connection has been closed.
func hasGone(conn net.Conn) bool {
	fd, err := descriptor(conn)
	if err != nil {
		return false
	}
	ended := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}} //nolint:gosec // a descriptor
	n, err := unix.Poll(ended, 0)
	_ = unix.Close(fd) // only looked at
	return err == nil && n > 0
}

// descriptor returns another descriptor of a connection.
func descriptor(conn net.Conn) (fd int, err error) {
	u, ok := conn.(syscall.Conn)
	if !ok {
		return 0, fmt.Errorf("%T has no descriptor", conn)
	}
	raw, err := u.SyscallConn()
	if err != nil {
		return 0, err
	}
	if ctrl := raw.Control(func(own uintptr) { fd, err = unix.FcntlInt(own, unix.F_DUPFD_CLOEXEC, 0) }); ctrl != nil {
		return 0, ctrl
	}
	return fd, err
}

// credentials returns the user and the process at the other end of a Unix socket.
func credentials(conn net.Conn) (*unix.Ucred, error) {
	u, ok := conn.(*net.UnixConn)
	if !ok {
		return nil, fmt.Errorf("%T is no Unix socket", conn)
	}
	raw, err := u.SyscallConn()
	if err != nil {
		return nil, err
	}
	var peer *unix.Ucred
	if ctrl := raw.Control(func(fd uintptr) { peer, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) }); ctrl != nil {
		return nil, ctrl
	}
	return peer, err
}
