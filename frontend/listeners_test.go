package frontend_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/frontend"
	"github.com/pigeon-sched/pigeon/frontend/journal"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/daemontest"
	"github.com/pigeon-sched/pigeon/internal/relay"
	"github.com/pigeon-sched/pigeon/thrift/gen/published"
	"github.com/pigeon-sched/pigeon/thrift/server"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// application serves FrontendService and keeps the messages.
type application struct {
	t       testing.TB
	address string
	process *daemontest.Process

	mu       sync.Mutex
	messages []string // "task status message"
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
	a.messages = append(a.messages, fmt.Sprintf("%s %d %s", id.TaskId, status, message))
	return nil
}

func (a *application) got() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.messages)
}

func (w *world) send(f *frontOf, i int) {
	w.t.Helper()
	if err := f.FrontendMessage(w.t.Context(), "app", wire.TaskRef{Task: fmt.Sprint(i), Job: "j", App: "app"}, 5, []byte("m")); err != nil {
		w.t.Fatal(err)
	}
}

func wantMessages(t *testing.T, got []string, n int) {
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

// An application receives one message for each of its built-in tasks, and none for tasks
// that ended before it registered.
func TestEndsOfBuiltInTasks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.master()
	w.node(0, 2)
	f := w.frontend()
	w.done(f, w.submit(f, sleeps("before", 2, 0)))
	other := sleeps("other", 1, 0)
	other.App = "other"
	w.submit(f, other) // accepted after all effects of the end of the first job
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
		w.send(f, i)
	}
	daemontest.Await(t, "ten messages", func() bool { return len(a.got()) == 10 })
	a.process.Stop()
	for i := 10; i < 30; i++ {
		w.send(f, i)
	}
	b := newApplication(t, "127.0.0.1:0")
	if err := f.RegisterFrontend(t.Context(), "app", b.address); err != nil {
		t.Fatal(err)
	}
	daemontest.Await(t, "twenty more", func() bool { return len(b.got()) >= 20 })
	wantMessages(t, append(a.got(), b.got()...), 30)
	f = w.restartFrontend(f)
	w.send(f, 30)
	daemontest.Await(t, "one more, without registering again", func() bool { return len(b.got()) == 21 })
	wantMessages(t, append(a.got(), b.got()...), 31)
}

// An application that comes back at its address gets the messages that waited.
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
		w.send(f, i)
	}
	a.serve(a.address)
	daemontest.Await(t, "all messages", func() bool { return len(a.got()) >= 20 })
	wantMessages(t, a.got(), 20)
	daemontest.Await(t, "all are counted as delivered", func() bool { return f.MessageStats() == relay.Stats{Delivered: 20} })
}

// TestRegistrationsAtOnce: of several registrations of an application at once, the one that takes effect is also
// the one that a restart finds.
func TestRegistrationsAtOnce(t *testing.T) {
	t.Parallel()
	const apps = 300
	w := newWorld(t)
	w.master()
	f := w.frontend(func(c *frontend.Config) { c.NoSync = true })
	at := map[string]*application{}
	for range 6 {
		a := newApplication(t, "127.0.0.1:0")
		at[a.address] = a
	}
	for i := range apps {
		var calls sync.WaitGroup
		for address := range at {
			calls.Go(func() {
				if err := f.RegisterFrontend(t.Context(), fmt.Sprint("app-", i), address); err != nil {
					t.Error(err)
				}
			})
		}
		calls.Wait()
		if err := f.FrontendMessage(t.Context(), fmt.Sprint("app-", i), wire.TaskRef{Task: fmt.Sprint(i), Job: "j", App: "app"}, 5, []byte("m")); err != nil {
			t.Fatal(err)
		}
	}
	delivered := func() (n int) {
		for _, a := range at {
			n += len(a.got())
		}
		return n
	}
	daemontest.Await(t, "all messages are delivered", func() bool { return delivered() == apps })
	f.process.Stop()
	j, rep, err := journal.Open(f.cfg.Data, journal.Options{Frontend: f.cfg.ID}, func(*journal.Job) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	for address, a := range at {
		for _, line := range a.got() {
			app, _, _ := strings.Cut(line, " ")
			if kept := rep.Apps["app-"+app]; kept != address {
				t.Errorf("the messages of application %s are sent to %s, and after a restart to %s", app, address, kept)
			}
		}
	}
}
