package guard

import (
	"encoding/gob"
	"fmt"
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pigeon-sched/pigeon/nodemonitor/backend/cgroup"
)

// session is the connection of a guard to its client.
//
//	served ──the client is gone──▶ waiting ──another client──▶ served
//	   └──opEnd, no grace──▶ over ◀──the grace is over──┘
type session struct {
	requests chan request // nil while there is no client
	events   *eventQueue  // likewise
	ending   bool         // the client ends for good
	over     bool
	expired  <-chan time.Time // the grace of a guard without a client
}

// first serves the client that started this guard.
func (s *server) first(conn net.Conn) error {
	dec := gob.NewDecoder(conn)
	var g greeting
	if err := dec.Decode(&g); err != nil {
		return err
	}
	s.owner, s.token, s.tree = g.Owner, g.Token, cgroup.At(g.Cgroup)
	if g.Grace > 0 {
		l, err := listener()
		if err != nil {
			return err
		}
		s.grace = g.Grace
		go s.accept(l)
	}
	s.serve(conn, dec)
	return nil
}

// listener returns the socket for later clients.
func listener() (net.Listener, error) {
	f := os.NewFile(listenFD, "guard-clients")
	defer func() { _ = f.Close() }() // FileListener has its own copy
	return net.FileListener(f)
}

// serve serves a client from now on, and sends it the first messages.
func (s *server) serve(conn net.Conn, dec *gob.Decoder, first ...any) {
	s.requests, s.events, s.expired = make(chan request, waiting), newEventQueue(), nil
	go receive(dec, s.requests)
	events := s.events
	go func() {
		events.send(conn, first...)
		_ = conn.Close() // the client is gone; this ends receive, too
	}()
}

// tell sends an event to the client, if there is one.
func (s *server) tell(e Event) {
	if s.events != nil {
		s.events.put(e)
	}
}

// clientGone is called when the connection has ended, however that happened.
func (s *server) clientGone() {
	s.events.close()
	s.requests, s.events = nil, nil
	if s.over = s.ending || s.grace == 0; s.over {
		return
	}
	s.expired = time.After(s.grace)
	_ = unix.Dup3(s.null, int(os.Stderr.Fd()), 0) // a reader of the client's error output now reads its end
	for _, c := range s.handles {
		if c.spec.Note == nil {
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
	dec := gob.NewDecoder(conn)
	var g greeting
	if dec.Decode(&g) != nil {
		_ = conn.Close() // it is no client
		return
	}
	_ = conn.SetDeadline(time.Time{}) // likewise
	until := time.Now().Add(handoverWait)
	s.todo <- func() { s.arrive(conn, dec, g, until) }
}

// handoverWait is how long a client waits for the end of the one before it, whose connection
// may have ended a moment ago.
const handoverWait = time.Second

// arrive serves a client that has connected, or refuses it.
func (s *server) arrive(conn net.Conn, dec *gob.Decoder, g greeting, until time.Time) {
	if s.requests != nil && time.Now().Before(until) {
		time.AfterFunc(10*time.Millisecond, func() { s.todo <- func() { s.arrive(conn, dec, g, until) } })
		return
	}
	w := welcome{Version: version, Pid: os.Getpid(), Token: s.token, Last: s.last, Kept: s.kept}
	switch {
	case g.Owner != s.owner:
		w.Refused = fmt.Sprintf("it runs processes of %s", s.owner)
	case s.requests != nil:
		w.Refused = "another node monitor is connected to it"
	case g.Version != version:
		w.Refused, w.Ends = fmt.Sprintf("it speaks version %d of the protocol, and this node monitor version %d", version, g.Version), true
	}
	if w.Refused == "" {
		held := s.held()
		w.Held, s.tree = len(held), cgroup.At(g.Cgroup)
		s.serve(conn, dec, append([]any{w}, held...)...)
		return
	}
	s.over = w.Ends
	_ = conn.SetWriteDeadline(time.Now().Add(time.Second)) // fails only on a closed socket
	_ = gob.NewEncoder(conn).Encode(w)                     // a client that is gone needs no answer
	_ = conn.Close()                                       // nothing follows
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
