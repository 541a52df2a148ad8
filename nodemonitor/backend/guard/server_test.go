package guard

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Without a backlog events are sent at once; with one they wait, but not for long.
func TestSendsNow(t *testing.T) {
	for _, tc := range []struct {
		ready int
		ago   time.Duration
		want  bool
	}{
		{0, 0, true},
		{backlog, 0, true},
		{backlog + 1, 0, false},
		{100 * backlog, sendsEvery - 1, false},
		{100 * backlog, sendsEvery, true},
	} {
		if got := sendsNow(tc.ready, tc.ago); got != tc.want {
			t.Errorf("%+v: %v", tc, got)
		}
	}
}

// While events wait for others the loop waits no longer than they do.
func TestPatience(t *testing.T) {
	s := &server{handles: map[Handle]*child{1: {}}, sent: time.Now()}
	s.link = &link{}
	if got := s.patience(); got != orphansEvery {
		t.Errorf("%d ms without events", got)
	}
	s.link.out = []byte("an event")
	if got := s.patience(); got < 1 || got > int(sendsEvery.Milliseconds()) {
		t.Errorf("%d ms with events", got)
	}
	s.link.waits = true // for the client to read
	if got := s.patience(); got != orphansEvery {
		t.Errorf("%d ms while the client does not read", got)
	}
	if s.starts = []*child{{}}; s.patience() != 0 {
		t.Error("it waits before it starts processes")
	}
}

// The loop holds events back while there is a backlog, and sends them when it has gone.
func TestEventsAreGathered(t *testing.T) {
	poll, err := newPoller()
	if err != nil {
		t.Fatal(err)
	}
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	s := &server{poll: poll, handles: map[Handle]*child{}, byPid: map[int]*child{}, draining: map[*child]bool{}}
	s.sent = time.Now().Add(time.Hour) // no time passes
	if s.link, err = newLink(s, fds[0], nil); err != nil {
		t.Fatal(err)
	}
	for range backlog + 2*startsAtOnce {
		s.starts = append(s.starts, &child{killed: true, spec: &Spec{Argv: []string{"true"}}}) // it never forks
	}
	s.tell(Event{Kind: Ended, Handle: 1})
	for len(s.starts) > backlog {
		s.turn()
		if n, err := unix.Read(fds[1], make([]byte, 1)); err != unix.EAGAIN {
			t.Fatalf("%d bytes, %v with a backlog of %d", n, err, len(s.starts))
		}
	}
	s.turn()
	if n, err := unix.Read(fds[1], make([]byte, 1)); n != 1 {
		t.Errorf("%d bytes, %v without a backlog", n, err)
	}
	for _, fd := range fds { // those of the poller stay: goroutines of the starts may signal it later
		if err := unix.Close(fd); err != nil {
			t.Error(err)
		}
	}
}
