package notice

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/api"
)

func TestNoticesArriveInOrder(t *testing.T) {
	c := &cluster{t: t}
	c.start()
	from, _ := c.connect(Options{Name: "node n1"})
	to, _ := c.connect(Options{Name: "master"})
	got, take := texts()
	must(t, to.Subscribe(IdleSubject("a cluster", 3, ""), take))
	const n = 5000
	for i := range n {
		must(t, from.Publish(IdleSubject("a cluster", 3, ""), []byte(fmt.Sprint(i))))
	}
	for i := range n {
		await(t, "notice", got, fmt.Sprint(i))
	}
	if s := to.Stats(); s.Received != n || s.Overrun != 0 || !s.Connected {
		t.Errorf("receiver: %+v", s)
	}
	must(t, from.Close())
	if s := from.Stats(); s.Published != n || s.Unsent != 0 || s.Queued != 0 {
		t.Errorf("sender: %+v", s)
	}
}

func TestPublishCopiesItsData(t *testing.T) {
	c := &cluster{t: t}
	c.start()
	conn, _ := c.connect(Options{})
	other, _ := c.connect(Options{})
	got, take := texts()
	must(t, other.Subscribe("s", take))
	b := []byte("first")
	for range 100 {
		copy(b, "first")
		must(t, conn.Publish("s", b))
		copy(b, "XXXXX")
	}
	for range 100 {
		await(t, "notice", got, "first")
	}
}

// Daemons start without NATS and use it once it is there.
func TestServerAbsentAtStart(t *testing.T) {
	c := &cluster{t: t}
	from, up := c.connect(Options{})
	to, toUp := c.connect(Options{})
	got, take := texts()
	must(t, to.Subscribe("s", take))
	err := from.Publish("s", []byte("lost"))
	var parts *api.Error
	if !errors.As(err, &parts) || parts.Problem != api.NotReady || !strings.Contains(err.Error(), "127.0.0.1:1") {
		t.Errorf("publishing without a server: %v", err)
	}
	if s := from.Stats(); from.Connected() || s.Unsent != 1 || s.Published != 0 {
		t.Errorf("%+v, want one unsent and not connected", s)
	}
	c.start()
	await(t, "sender connected", up, true)
	await(t, "receiver connected", toUp, true)
	must(t, to.Subscribe("other", take)) // confirmed after those made before
	must(t, from.Publish("s", []byte("found")))
	await(t, "notice", got, "found")
}

// Notices published while the server is away are lost and counted, and the flow
// resumes by itself afterwards.
func TestServerRestarts(t *testing.T) {
	c := &cluster{t: t}
	c.start()
	from, fromStates := c.connect(Options{})
	to, toStates := c.connect(Options{})
	await(t, "sender", fromStates, true)
	await(t, "receiver", toStates, true)
	got, take := texts()
	must(t, to.Subscribe("s", take))
	published := 0
	publish := func(text string) {
		published++
		_ = from.Publish("s", []byte(text))
	}
	for round := range 3 {
		publish("before")
		await(t, "notice", got, "before")
		c.stop()
		await(t, "sender", fromStates, false)
		await(t, "receiver", toStates, false)
		for range 100 {
			publish("lost")
		}
		c.start()
		await(t, "sender", fromStates, true)
		await(t, "receiver", toStates, true)
		must(t, to.Subscribe(fmt.Sprint("round ", round)[6:], take)) // the old ones are renewed by then
	}
	publish("after")
	await(t, "notice", got, "after")
	must(t, from.Close())
	if s := from.Stats(); s.Published != 4 || s.Unsent != 300 || s.Reconnects != 3 {
		t.Errorf("%+v of %d published, want 4 sent, 300 unsent, 3 reconnects", s, published)
	}
}

// A server that refuses a client, again and again, is one that cannot be reached: once its operator
// has corrected what it admits, notices flow without a restart of the daemon.
func TestARefusedClientKeepsTrying(t *testing.T) {
	for name, known := range map[string]bool{"from the start": false, "after it was admitted": true} {
		t.Run(name, func(t *testing.T) {
			refusing := make(chan struct{})
			attempts := make(chan struct{}, 10_000)
			c := &cluster{t: t, dialed: func() {
				select {
				case <-refusing:
					attempts <- struct{}{}
				default:
				}
			}}
			if known {
				c.start()
			} else {
				c.startWith("another")
				close(refusing)
			}
			conn, states := c.connect(Options{})
			if known {
				await(t, "connected", states, true)
				c.stop()
				await(t, "connected", states, false)
				c.startWith("another")
				close(refusing)
			}
			for range 4 { // the fourth begins after three refusals
				await(t, "attempt", attempts, struct{}{})
			}
			c.stop()
			c.start()
			await(t, "connected", states, true)
			got, take := texts()
			must(t, conn.Subscribe("s", take))
			other, up := c.connect(Options{})
			await(t, "the other connected", up, true)
			must(t, other.Publish("s", []byte("found")))
			await(t, "notice", got, "found")
		})
	}
}

func TestASlowSubscriberLosesAndCounts(t *testing.T) {
	c := &cluster{t: t}
	c.start()
	from, _ := c.connect(Options{})
	to, _ := c.connect(Options{MaxPending: 10})
	gate, entered := make(chan struct{}), make(chan struct{}, 100)
	must(t, to.Subscribe("slow", func([]byte) { entered <- struct{}{}; <-gate }))
	marks, mark := texts()
	must(t, to.Subscribe("mark", mark))
	must(t, from.Publish("slow", nil))
	<-entered
	for range 99 {
		must(t, from.Publish("slow", nil))
	}
	must(t, from.Publish("mark", []byte("all read")))
	await(t, "mark", marks, "all read")
	// One is being taken and counts as pending.
	if got := to.Stats().Overrun; got != 90 {
		t.Errorf("%d dropped, want 100 less the 10 that may wait", got)
	}
	close(gate)
}

func TestLimitsAreNamed(t *testing.T) {
	for want, o := range map[string]*outbox{
		"3 notices are queued (limit 3)":               newOutbox(3, 1000),
		"600 bytes are queued (limit 1000)":            newOutbox(100, 1000),
		"the notice has 1048577 bytes (limit 1048576)": newOutbox(100, 10<<20),
	} {
		size := 200
		switch {
		case strings.HasPrefix(want, "600"):
			size = 600
		case strings.HasPrefix(want, "the notice"):
			size = MaxNotice + 1
		}
		var err error
		for range 4 {
			err = errors.Join(err, o.put("s", make([]byte, size)))
		}
		var parts *api.Error
		if !errors.As(err, &parts) || parts.Problem != api.Busy || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
		if _, _, unsent := o.counts(); unsent == 0 {
			t.Errorf("%q: not counted", want)
		}
	}
}

func TestCloseWaitsForTheFunction(t *testing.T) {
	c := &cluster{t: t}
	c.start()
	from, _ := c.connect(Options{})
	to, _ := c.connect(Options{})
	entered, gate, left := make(chan struct{}), make(chan struct{}), make(chan struct{})
	must(t, to.Subscribe("s", func([]byte) { close(entered); <-gate; close(left) }))
	must(t, from.Publish("s", nil))
	<-entered
	closed := make(chan struct{})
	go func() { _ = to.Close(); close(closed) }()
	go func() {
		for to.Connected() { // until Close has begun
			runtime.Gosched()
		}
		close(gate)
	}()
	<-closed
	select {
	case <-left:
	default:
		t.Error("Close returned while the function ran")
	}
	must(t, to.Close())
	if err := to.Subscribe("s", func([]byte) {}); !errors.Is(err, ErrClosed) {
		t.Errorf("subscribing after Close: %v", err)
	}
	if to.Connected() {
		t.Error("connected after Close")
	}
}

func TestCloseWithoutAServer(t *testing.T) {
	c := &cluster{t: t}
	conn, _ := c.connect(Options{})
	must(t, conn.Subscribe("s", func([]byte) {}))
	must(t, conn.Close())
	must(t, conn.Close())
}

func TestAnImpossibleURL(t *testing.T) {
	for _, url := range []string{"nats://127.0.0.1:port", "http://[::1"} {
		_, err := Connect(Options{Access: Access{URL: url}})
		var parts *api.Error
		if !errors.As(err, &parts) || parts.Problem != api.Invalid || !strings.Contains(err.Error(), url) {
			t.Errorf("%s: %v", url, err)
		}
	}
}
