package app

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is everything around a registry: backends that answer launches and
// probes as told, and a record of the registry's events, line by line.
type world struct {
	mu     sync.Mutex
	launch map[string]func(context.Context) error // by address; nil answers well
	probe  map[string]error                       // by address
	said   []string
}

func newWorld() *world {
	return &world{launch: map[string]func(context.Context) error{}, probe: map[string]error{}}
}

func (w *world) sayf(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.said = append(w.said, fmt.Sprintf(format, args...))
}

func (w *world) SlotAdded(s Slot) { w.sayf("+slot %d %s reserved=%v", s.Number, s.App, s.Reserved) }

func (w *world) SlotGone(s Slot, reason string) {
	w.sayf("-slot %d reason=%v", s.Number, reason != "")
}

func (w *world) ServesChanged(apps []string) { w.sayf("serves %v", apps) }

func (w *world) done(r backend.Result) {
	w.sayf("%d %v reason=%v", r.ID.Task, r.Outcome, r.Reason != "")
}

func (w *world) registry() *Registry {
	return New(Config{
		Node: "n1", FirstSlot: 4, Events: w,
		Launch: func(ctx context.Context, address string, t *backend.Task) error {
			w.mu.Lock()
			f := w.launch[address]
			w.mu.Unlock()
			if f != nil {
				return f(ctx)
			}
			w.sayf("launch %d at %s", t.ID.Task, address)
			return nil
		},
		Probe: func(_ context.Context, address string) error {
			w.mu.Lock()
			defer w.mu.Unlock()
			return w.probe[address]
		},
	})
}

func (w *world) fail(address string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.probe[address] = err
}

// expect compares the events since the last call.
func (w *world) expect(t *testing.T, want ...string) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if !slices.Equal(w.said, want) {
		t.Errorf("said %q, want %q", w.said, want)
	}
	w.said = nil
}

func task(n int, app string, slot int32) backend.Task {
	return backend.Task{
		ID:      sched.AttemptID{Job: sched.NewJobID("f", app), Task: int32(n), Attempt: 1},
		JobName: "job", TaskName: fmt.Sprint(n), App: app, Frontend: "f:1", Slot: slot,
	}
}

func ref(n int) TaskRef { return TaskRef{Job: "job", Task: fmt.Sprint(n)} }

func register(t *testing.T, r *Registry, app, address string, k Kind) {
	t.Helper()
	if err := r.Register(app, address, k); err != nil {
		t.Fatal(err)
	}
}

// errRefused is the error of a connection to a port without a listener.
var errRefused = fmt.Errorf("dial: %w", syscall.ECONNREFUSED)

const long = time.Hour
