package frontend_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/frontend"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/daemontest"
	"github.com/pigeon-sched/pigeon/thrift/gen/published"
	"github.com/pigeon-sched/pigeon/thrift/server"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// application serves FrontendService and keeps what it is told.
type application struct {
	t       testing.TB
	address string
	process *daemontest.Process

	mu   sync.Mutex
	told []string // "task status message"
}

func newApplication(t testing.TB, address string) *application {
	t.Helper()
	a := &application{t: t}
	a.serve(address)
	return a
}

func (a *application) serve(address string) {
	a.t.Helper()
	s, err := server.New(published.NewFrontendServiceProcessor(a), server.Options{Name: "application", Address: address, Log: daemontest.Log(a.t), StopTimeout: 50 * time.Millisecond})
	if err == nil {
		err = s.Listen()
	}
	if err != nil {
		a.t.Fatal(err)
	}
	a.address = s.Addr().String()
	a.process = daemontest.Run(a.t, s)
}

func (a *application) FrontendMessage(_ context.Context, id *published.TFullTaskId, status int32, message []byte) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.told = append(a.told, fmt.Sprintf("%s %d %s", id.TaskId, status, message))
	return nil
}

func (a *application) got() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.told)
}

func (w *world) say(f *frontOf, i int) {
	w.t.Helper()
	if err := f.FrontendMessage(w.t.Context(), "app", wire.TaskRef{Task: fmt.Sprint(i), Job: "j", App: "app"}, 5, []byte("m")); err != nil {
		w.t.Fatal(err)
	}
}

func wantTold(t *testing.T, got []string, n int) {
	t.Helper()
	for i := range n {
		if want := fmt.Sprintf("%d 5 m", i); i >= len(got) || got[i] != want {
			t.Fatalf("message %d of %q is not %q", i, got, want)
		}
	}
	if len(got) != n {
		t.Fatalf("%d messages, want %d: %q", len(got), n, got)
	}
}

// An application hears of each of its built-in tasks once, and of nothing before
// it registered.
func TestBuiltInTasksAreTold(t *testing.T) {
	w := newWorld(t)
	w.master()
	w.node(0, 2)
	f := w.frontend()
	w.done(f, w.submit(f, sleeps("before", 2, 0)))
	a := newApplication(t, "127.0.0.1:0")
	for range 2 {
		if err := f.RegisterFrontend(t.Context(), "app", a.address); err != nil {
			t.Fatal(err)
		}
	}
	r := sleeps("job", 5, 0)
	r.Tasks[4] = api.Task{ID: "bad", Payload: api.Payload{Backend: api.BackendSleep}}
	w.done(f, w.submit(f, r))
	fails := &api.Request{App: "app", Key: "exec", Backend: api.BackendExec, Tasks: []api.Task{{ID: "x", Payload: api.Payload{Backend: api.BackendExec, Exec: &api.Exec{Argv: []string{"/nowhere/at/all"}}}}}}
	if s, err := f.Wait(t.Context(), w.submit(f, fails), 30*time.Second); err != nil || s.State != api.StateFailed {
		t.Fatalf("%+v, %v", s, err)
	}
	daemontest.Await(t, "six messages", func() bool { return len(a.got()) >= 6 })
	got := a.got()
	slices.Sort(got)
	if want := []string{"0 0 ", "1 0 ", "2 0 ", "3 0 ", "bad 0 ", "x 1 "}; !slices.Equal(got, want) {
		t.Errorf("told %q, want %q", got, want)
	}
}

// Messages come in order, once each, over an application that is away for a while
// and comes back at another address, and over a restart of the frontend.
func TestApplicationRestartsElsewhere(t *testing.T) {
	w := newWorld(t)
	w.master()
	f := w.frontend()
	a := newApplication(t, "127.0.0.1:0")
	if err := f.RegisterFrontend(t.Context(), "app", a.address); err != nil {
		t.Fatal(err)
	}
	for i := range 10 {
		w.say(f, i)
	}
	daemontest.Await(t, "ten messages", func() bool { return len(a.got()) == 10 })
	a.process.Stop()
	for i := 10; i < 30; i++ {
		w.say(f, i)
	}
	b := newApplication(t, "127.0.0.1:0")
	if err := f.RegisterFrontend(t.Context(), "app", b.address); err != nil {
		t.Fatal(err)
	}
	daemontest.Await(t, "twenty more", func() bool { return len(b.got()) >= 20 })
	wantTold(t, append(a.got(), b.got()...), 30)
	f = w.againFrontend(f)
	w.say(f, 30)
	daemontest.Await(t, "one more, without registering again", func() bool { return len(b.got()) == 21 })
	wantTold(t, append(a.got(), b.got()...), 31)
}

// An application that comes back at its address gets what waited.
func TestApplicationAway(t *testing.T) {
	w := newWorld(t)
	w.master()
	f := w.frontend()
	a := newApplication(t, "127.0.0.1:0")
	if err := f.RegisterFrontend(t.Context(), "app", a.address); err != nil {
		t.Fatal(err)
	}
	a.process.Stop()
	for i := range 20 {
		w.say(f, i)
	}
	a.serve(a.address)
	daemontest.Await(t, "all messages", func() bool { return len(a.got()) >= 20 })
	wantTold(t, a.got(), 20)
	daemontest.Await(t, "they are settled", func() bool {
		waiting, delivered, lost := f.RelayCounts()
		return waiting == 0 && delivered == 20 && lost == 0
	})
}

// What an application may have got does not come again; what it cannot get in time
// is given up.
func TestMessagesGivenUp(t *testing.T) {
	w := newWorld(t)
	w.master()
	f := w.frontend()
	f.SetRelayPatience(time.Millisecond)
	mute, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	read := make(chan error, 1)
	go func() { // the call is read, and breaks without an answer; then nobody is there
		c, err := mute.Accept()
		if err == nil {
			_, err = c.Read(make([]byte, 1<<10))
			read <- errors.Join(err, mute.Close(), c.Close())
			return
		}
		read <- err
	}()
	if err := f.RegisterFrontend(t.Context(), "app", mute.Addr().String()); err != nil {
		t.Fatal(err)
	}
	w.say(f, 0)
	daemontest.Await(t, "it is given up", func() bool { _, _, lost := f.RelayCounts(); return lost == 1 })
	if err := <-read; err != nil {
		t.Error(err)
	}
	w.say(f, 1)
	daemontest.Await(t, "nobody is there for the next", func() bool { _, _, lost := f.RelayCounts(); return lost == 2 })
}

// A queue is bounded, and an unknown application is an error for whoever speaks.
func TestRelayRefuses(t *testing.T) {
	w := newWorld(t)
	w.master()
	f := w.frontend()
	body := make([]byte, 16<<20)
	say := func(app string, size int) *api.Error {
		var e *api.Error
		errors.As(f.FrontendMessage(t.Context(), app, wire.TaskRef{Task: "t"}, 0, body[:size]), &e)
		return e
	}
	if e := say("nobody", 0); e == nil || e.Problem != api.NotFound || !strings.Contains(e.Next, "registerFrontend") {
		t.Errorf("%+v", e)
	}
	for _, address := range []string{"", "nowhere"} {
		if err := f.RegisterFrontend(t.Context(), "app", address); err == nil {
			t.Errorf("an application at %q was registered", address)
		}
	}
	if err := f.RegisterFrontend(t.Context(), "", "127.0.0.1:1"); err == nil {
		t.Error("an application without a name was registered")
	}
	for _, app := range []string{"app", "big"} {
		if err := f.RegisterFrontend(t.Context(), app, "127.0.0.1:1"); err != nil {
			t.Fatal(err)
		}
	}
	for i := range frontend.RelayQueue {
		if e := say("app", 0); e != nil {
			t.Fatalf("message %d: %v", i, e)
		}
	}
	if e := say("app", 0); e == nil || e.Problem != api.Busy || !strings.Contains(e.What, fmt.Sprint(frontend.RelayQueue)) {
		t.Errorf("%+v", e)
	}
	var e *api.Error
	for e == nil {
		e = say("big", len(body))
	}
	if e.Problem != api.Busy || !strings.Contains(e.What, "bytes") {
		t.Errorf("%+v", e)
	}
}

// The application that was used the longest ago makes room for another one.
func TestRelayMakesRoom(t *testing.T) {
	if testing.Short() {
		t.Skip("registers ten thousand applications")
	}
	w := newWorld(t)
	w.master()
	f := w.frontend()
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			for k := range frontend.RelayApps / 20 {
				if err := f.RegisterFrontend(t.Context(), fmt.Sprint("app-", i, "-", k), "127.0.0.1:1"); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	if err := f.RegisterFrontend(t.Context(), "one more", "127.0.0.1:1"); err != nil {
		t.Error(err)
	}
	if err := f.FrontendMessage(t.Context(), "one more", wire.TaskRef{}, 0, nil); err != nil {
		t.Error(err)
	}
}
