package listeners_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/pigeon-sched/pigeon/frontend/listeners"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/daemontest"
	"github.com/pigeon-sched/pigeon/thrift/gen/published"
	"github.com/pigeon-sched/pigeon/thrift/server"
	"github.com/pigeon-sched/pigeon/thrift/server/servertest"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newListeners(t *testing.T, patience time.Duration) *listeners.Listeners {
	t.Helper()
	l := listeners.New(daemontest.Log(t), patience)
	t.Cleanup(func() { _ = l.Close() }) // it has no error
	return l
}

func register(t *testing.T, l *listeners.Listeners, app, address string) (forgotten string) {
	t.Helper()
	forgotten, err := l.Register(app, address)
	if err != nil {
		t.Fatal(err)
	}
	return forgotten
}

// A message that an application may have received is not sent again, and one that it cannot
// receive in time is given up.
func TestMessagesGivenUp(t *testing.T) {
	l := newListeners(t, time.Millisecond)
	mute, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	read := make(chan error, 1)
	go func() { // the call is read, and breaks without an answer; then the address is free
		c, err := mute.Accept()
		if err == nil {
			_, err = c.Read(make([]byte, 1<<10))
			err = errors.Join(err, mute.Close(), c.Close())
		}
		read <- err
	}()
	register(t, l, "app", mute.Addr().String())
	for dropped := range uint64(2) { // the first was sent, the second cannot be
		if err := l.Send("app", listeners.Message{}); err != nil {
			t.Fatal(err)
		}
		daemontest.Await(t, fmt.Sprintf("message %d is given up", dropped), func() bool { return l.Stats().Dropped == dropped+1 })
		if dropped == 0 {
			if err := <-read; err != nil {
				t.Error(err)
			}
		}
	}
}

// Messages that are given up are logged once for each application, and the line of a minute later has
// the number of those that were not.
func TestMessagesGivenUpAreLoggedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		l := listeners.New(slog.New(slog.NewTextHandler(&log, nil)), time.Millisecond)
		defer l.Close()
		give := func(apps ...string) {
			for _, app := range apps {
				register(t, l, app, "127.0.0.1:70000") // no port: no network in a bubble
				before := l.Stats().Dropped
				for range 1000 {
					if err := l.Send(app, listeners.Message{Task: wire.TaskRef{Task: "t"}}); err != nil {
						t.Fatal(err)
					}
				}
				time.Sleep(time.Second)
				if n := l.Stats().Dropped - before; n != 1000 {
					t.Fatalf("%d messages for %s were given up, want 1000", n, app)
				}
			}
		}
		lines := func() (n int) { return strings.Count(log.String(), "was not delivered to its application") }
		give("a", "b")
		if n := lines(); n != 2 {
			t.Errorf("2000 messages for two applications are logged in %d lines, want 2", n)
		}
		time.Sleep(time.Minute)
		give("a")
		if n := lines(); n != 3 || !strings.Contains(log.String(), "omitted=999") {
			t.Errorf("after a minute there are %d lines, want 3, the last one with those that have none: %.500s", n, &log)
		}
	})
}

// The names of a task count among the bytes that wait for an application, and are clipped in the log.
func TestLongNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		l := listeners.New(slog.New(slog.NewTextHandler(&log, nil)), time.Millisecond)
		defer l.Close()
		register(t, l, "app", "127.0.0.1:70000") // no port: no network in a bubble
		name := strings.Repeat("x", 16<<20)
		for _, task := range []wire.TaskRef{{Task: name}, {Job: name}, {App: name}} {
			if err := l.Send("app", listeners.Message{Task: task}); err != nil {
				t.Fatal(err)
			}
		}
		e, _ := errors.AsType[*api.Error](l.Send("app", listeners.Message{Task: wire.TaskRef{Task: name}}))
		if e == nil || e.Problem != api.Busy || !strings.Contains(e.What, "bytes of messages wait for it") {
			t.Errorf("beyond 64 MiB of names: %v", e)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if n := log.Len(); n == 0 || n > 64<<10 {
			t.Errorf("the log has %d bytes", n)
		}
	})
}

// A queue is bounded, and an unknown application is an error for the sender.
func TestRefusals(t *testing.T) {
	l := newListeners(t, listeners.Patience)
	body := make([]byte, 16<<20)
	send := func(app string, size int) *api.Error {
		e, _ := errors.AsType[*api.Error](l.Send(app, listeners.Message{Task: wire.TaskRef{Task: "t"}, Body: body[:size]}))
		return e
	}
	if e := send("unknown", 0); e == nil || e.Problem != api.NotFound || !strings.Contains(e.Next, "registerFrontend") {
		t.Errorf("%+v", e)
	}
	for _, address := range []string{"", "nowhere"} {
		if _, err := l.Register("app", address); err == nil {
			t.Errorf("an application at %q was registered", address)
		}
	}
	for _, app := range []string{"app", "big"} {
		register(t, l, app, "127.0.0.1:1")
	}
	for i := range listeners.MaxMessages {
		if e := send("app", 0); e != nil {
			t.Fatalf("message %d: %v", i, e)
		}
	}
	if e := send("app", 0); e == nil || e.Problem != api.Busy || !strings.Contains(e.What, fmt.Sprint(listeners.MaxMessages)) {
		t.Errorf("%+v", e)
	}
	var e *api.Error
	for e == nil {
		e = send("big", len(body))
	}
	if e.Problem != api.Busy || !strings.Contains(e.What, fmt.Sprintf("the limit is %d", listeners.MaxBytes)) {
		t.Errorf("%+v", e)
	}
	register(t, l, "small", "127.0.0.1:1")
	if e := send("small", 1<<20); e != nil {
		t.Errorf("one application with many bytes took the room of another: %v", e)
	}
	_ = l.Close()
	if e := send("big", 0); e == nil || e.Problem != api.NotReady {
		t.Errorf("after Close: %+v", e)
	}
	if _, err := l.Register("late", "127.0.0.1:1"); err == nil {
		t.Error("an application was registered after Close")
	}
}

// The least recently used application makes room for another one, unless messages wait for
// it.
func TestMakesRoom(t *testing.T) {
	l := newListeners(t, listeners.Patience)
	for i := range listeners.MaxApplications {
		if forgotten := register(t, l, fmt.Sprint("app-", i), "127.0.0.1:1"); forgotten != "" {
			t.Fatalf("application %d: %s was forgotten", i, forgotten)
		}
	}
	if err := l.Send("app-0", listeners.Message{}); err != nil {
		t.Fatal(err)
	}
	if forgotten := register(t, l, "one more", "127.0.0.1:1"); forgotten != "app-1" {
		t.Errorf("%q was forgotten, want app-1", forgotten)
	}
	if err := l.Send("one more", listeners.Message{}); err != nil {
		t.Error(err)
	}
}

// A user with many applications makes room for another one among its own.
func TestUserWithManyApplicationsEvictsNoOthers(t *testing.T) {
	l := newListeners(t, listeners.Patience)
	register(t, l, "victim›etl", "127.0.0.1:1")
	register(t, l, "plain", "127.0.0.1:1")
	const most = listeners.MaxApplications / 2
	name := func(i int) string { return api.ScopedApp("mallory", fmt.Sprint(i)) }
	for i := range most {
		if forgotten := register(t, l, name(i), "127.0.0.1:1"); forgotten != "" {
			t.Fatalf("application %d: %s was forgotten", i, forgotten)
		}
	}
	for i := range 3 {
		if forgotten := register(t, l, name(most+i), "127.0.0.1:1"); forgotten != name(i) {
			t.Errorf("%q was forgotten, want %q", forgotten, name(i))
		}
	}
	if forgotten := register(t, l, "victim›second", "127.0.0.1:1"); forgotten != "" {
		t.Errorf("%q was forgotten for another user", forgotten)
	}
	for i := 3; i < most+3; i++ {
		if err := l.Send(name(i), listeners.Message{}); err != nil {
			t.Fatal(err)
		}
	}
	_, err := l.Register(name(0), "127.0.0.1:1")
	if e, ok := errors.AsType[*api.Error](err); !ok || e.Problem != api.Busy || !strings.Contains(e.What, "5000 applications of mallory") {
		t.Errorf("messages wait for all: %v", err)
	}
	register(t, l, "victim›third", "127.0.0.1:1")
}

// The messages that wait for the applications of one user leave room for those of others.
func TestMessagesOfUserLeaveRoom(t *testing.T) {
	l := newListeners(t, listeners.Patience)
	body := make([]byte, 16<<20)
	fill := func(user string) (err error) {
		for i := 0; err == nil; i++ {
			app := api.ScopedApp(user, fmt.Sprint(i))
			register(t, l, app, "127.0.0.1:1")
			for n := 0; n < 3 && err == nil; n++ {
				err = l.Send(app, listeners.Message{Body: body})
			}
		}
		return err
	}
	if err := fill("mallory"); !strings.Contains(err.Error(), fmt.Sprintf("all destinations of mallory; the limit is %d", 128<<20)) {
		t.Error(err)
	}
	register(t, l, "victim›etl", "127.0.0.1:1")
	if err := l.Send("victim›etl", listeners.Message{Body: body}); err != nil {
		t.Errorf("one user took the room of another: %v", err)
	}
	if err := fill(""); !strings.Contains(err.Error(), fmt.Sprintf("all destinations; the limit is %d", 256<<20)) {
		t.Error(err) // the daemons' own user has no part
	}
}

// slowApplication takes its first message only when it is let go.
type slowApplication struct {
	called, letGo chan struct{}
	taken         atomic.Int32
}

func (a *slowApplication) FrontendMessage(context.Context, *published.TFullTaskId, int32, []byte) error {
	if a.taken.Load() == 0 {
		close(a.called)
		<-a.letGo
	}
	a.taken.Add(1)
	return nil
}

// What was taken is delivered before Close returns, by an application that takes it in time.
func TestCloseDelivers(t *testing.T) {
	a := &slowApplication{called: make(chan struct{}), letGo: make(chan struct{})}
	s := servertest.Start(t, published.NewFrontendServiceProcessor(a), server.Options{Name: "application"})
	l := newListeners(t, listeners.Patience)
	register(t, l, "app", s.Addr().String())
	sent := int32(0)
	send := func() bool {
		taken := l.Send("app", listeners.Message{}) == nil
		if taken {
			sent++
		}
		return taken
	}
	for range 3 {
		send()
	}
	<-a.called
	closed := make(chan error)
	go func() { closed <- l.Close() }()
	daemontest.Await(t, "nothing more is taken", func() bool { return !send() })
	close(a.letGo)
	if err := <-closed; err != nil || sent < 3 || a.taken.Load() != sent {
		t.Errorf("%d of %d messages are delivered, %v", a.taken.Load(), sent, err)
	}
}

// Close waits no longer than two seconds for an application that is away, and the log says what it did not get.
func TestCloseGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		l := listeners.New(slog.New(slog.NewTextHandler(&log, nil)), listeners.Patience)
		register(t, l, "app", "127.0.0.1:70000") // no port: no network in a bubble
		for range 2 {
			if err := l.Send("app", listeners.Message{}); err != nil {
				t.Fatal(err)
			}
		}
		began := time.Now()
		for range 2 {
			_ = l.Close() // it has no error
		}
		if took := time.Since(began); took != 2*time.Second {
			t.Errorf("it took %v", took)
		}
		if text := log.String(); strings.Count(text, "were not delivered before the frontend stopped") != 1 || !strings.Contains(text, "messages=2") {
			t.Errorf("it logged %q", text)
		}
	})
}
