package guard

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pigeon-sched/pigeon/internal/await"
)

// TestStartsAreGathered: the event of a start waits a moment for another one, and the end of a
// process waits for nothing.
func TestStartsAreGathered(t *testing.T) {
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
	if l.patience() != -1 {
		t.Errorf("nothing is to be sent in %d ms", l.patience())
	}
	received := func() int {
		var buf [4096]byte
		n, _ := unix.Read(fds[1], buf[:])
		return max(n, 0)
	}
	send := func(kinds ...EventKind) {
		for _, k := range kinds {
			l.put(&Event{Kind: k})
		}
		l.flush()
	}
	l.due = time.Now().Add(time.Hour) // put sets another time
	send(Started)
	if p := l.patience(); p < 0 || p > int(startsAfter.Milliseconds()) {
		t.Errorf("a start is sent in %d ms", p)
	}
	l.due = time.Now().Add(time.Hour) // however slow this machine is
	send(Started)
	if n := received(); n != 0 {
		t.Errorf("%d bytes of starts were sent at once", n)
	}
	send(Ended)
	both := received()
	if both == 0 || l.patience() != -1 {
		t.Errorf("%d bytes were sent, %d ms are to be waited", both, l.patience())
	}
	send(Started)
	l.hurry()
	l.flush()
	if received() == 0 {
		t.Error("a start that is waited for was not sent")
	}
}

// TestFullSocket: events that the client has not read wait without being lost, and without delay for
// the loop.
func TestFullSocket(t *testing.T) {
	c := client(t)
	const runs = 300
	release := make(chan struct{})
	ended := make(chan Event, runs)
	for range runs {
		// The tails make 1.2 MB, more than a socket takes.
		_, err := c.Start(Spec{Argv: []string{"sh", "-c", "printf '%4096s' x >&2"}, Dir: "/"}, func(e Event) {
			<-release
			if e.Kind.last() {
				ended <- e
			}
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	time.AfterFunc(time.Second, func() { close(release) })
	for range runs {
		select {
		case e := <-ended:
			if e.Kind != Ended || len(e.Tail) != tailBytes {
				t.Fatalf("ended as %+v", e)
			}
		case <-time.After(await.Limit):
			t.Fatal("an end was lost")
		}
	}
}

// TestForgottenLater: the guard is told soon that an end was received, even if nothing else is to be
// said.
func TestForgottenLater(t *testing.T) {
	o := options(t.TempDir(), time.Minute)
	c := New(o)
	if e := start(t, c, shell("exit 0")).end(); e.Kind != Ended {
		t.Fatalf("ended as %+v", e)
	}
	await.Until(t, "it is written that the end was received", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return !c.later && len(c.queue) == 0
	})
	c.Leave()
	next := New(o)
	defer next.Close(0)
	a, err := next.Adopt()
	if err != nil || a == nil || len(a.Held) != 0 {
		t.Fatalf("the next client has %+v (%v)", a, err)
	}
	next.Follow(a)
}
