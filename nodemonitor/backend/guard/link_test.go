package guard

import (
	"testing"

	"golang.org/x/sys/unix"
)

// TestFullSocket: events for which the socket has no room wait without holding up the loop, and
// reach the client in their order once it reads.
func TestFullSocket(t *testing.T) {
	poll, err := newPoller()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = unix.Close(poll.epoll), unix.Close(poll.wake) }()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Close(fds[1]) }()
	l, err := newLink(&server{poll: poll}, fds[0], nil)
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	var sent Handle
	for !l.waits || sent%100 != 0 { // some more after the first for which there is no room
		sent++
		l.put(&Event{Kind: Ended, Handle: sent, Tail: make([]byte, tailBytes)})
		l.flush()
	}
	var in []byte
	buf := make([]byte, readAtOnce)
	for received := Handle(0); received < sent; {
		n, err := unix.Read(fds[1], buf)
		if err == unix.EAGAIN {
			if poll.wait(0) {
				t.Fatalf("nothing is sent after %d of %d events", received, sent)
			}
			continue
		}
		if err != nil || n == 0 {
			t.Fatalf("after %d events: %d bytes, %v", received, n, err)
		}
		in = append(in, buf[:n]...)
		for {
			message, rest, err := cutFrame(in)
			if err != nil {
				t.Fatal(err)
			}
			if message == nil {
				break
			}
			var e Event
			if err := decode(&e, message); err != nil || e.Handle != received+1 || len(e.Tail) != tailBytes {
				t.Fatalf("after %d events: %d (%v)", received, e.Handle, err)
			}
			received, in = received+1, rest
		}
	}
	if l.waits || len(l.out) > 0 {
		t.Errorf("%d bytes wait when all were received", len(l.out))
	}
}
