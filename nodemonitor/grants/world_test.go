package grants_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend"
	"github.com/pigeon-sched/pigeon/nodemonitor/grants"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// world is a table and holds, with the ends and changes that they reported.
type world struct {
	*grants.Table
	holds *grants.Holds
	t     testing.TB

	mu      sync.Mutex
	changes int
	results map[int32]backend.Result // by task
}

func newWorld(t testing.TB, change ...func(*grants.Config)) *world {
	w := &world{t: t, results: map[int32]backend.Result{}}
	cfg := grants.Config{Node: "n", Slots: 8, Lease: 100 * time.Millisecond, Changed: func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.changes++
	}}
	for _, c := range change {
		c(&cfg)
	}
	w.Table, w.holds = grants.New(cfg), grants.NewHolds(cfg.Node, cfg.Changed)
	return w
}

func attempt(task int) sched.AttemptID {
	return sched.AttemptID{Job: sched.NewJobID("f", "j"), Task: int32(task), Attempt: 1} //nolint:gosec // small
}

// start offers a slot to the application "a", under a level named as the task's
// class.
func (w *world) start(task int) { w.startFor("a", task) }

func (w *world) startFor(app string, task int) {
	w.startAt(w.Table, app, task)
}

// startAt starts an attempt in one of the backends.
func (w *world) startAt(b backend.Backend, app string, task int) {
	id := attempt(task)
	b.Start(backend.Task{ID: id, App: app, HT: true, Payload: api.Payload{Message: []byte("level")}}, func(r backend.Result) {
		w.mu.Lock()
		defer w.mu.Unlock()
		if _, twice := w.results[r.ID.Task]; twice || r.ID != id {
			w.t.Errorf("the end of task %d is reported again: %+v", id.Task, r)
		}
		w.results[r.ID.Task] = r
	})
}

// outcome returns how a task ended, 0 when it has not.
func (w *world) outcome(task int) sched.Outcome {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.results[int32(task)].Outcome //nolint:gosec // small
}

func (w *world) wantOutcomes(want ...sched.Outcome) {
	w.t.Helper()
	for i, o := range want {
		if got := w.outcome(i + 1); got != o {
			w.t.Errorf("task %d: %v, want %v", i+1, got, o)
		}
	}
}

func executor(id string) wire.ExecutorID {
	return wire.ExecutorID{Application: "a", Executor: id, Token: "t" + id}
}

// attach admits an executor and attaches it.
func (w *world) attach(id string, slots int) {
	w.t.Helper()
	w.Admit("a", id, "t"+id)
	if err := w.AttachExecutor(context.Background(), executor(id), slots); err != nil {
		w.t.Fatal(err)
	}
}

// await requests an executor's grants without waiting.
func (w *world) await(id string, after int64) (tasks []string, upTo int64) {
	w.t.Helper()
	g, err := w.AwaitGrants(context.Background(), executor(id), after, 0)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, x := range g.Grants {
		tasks = append(tasks, x.ID)
	}
	return tasks, g.UpTo
}

func names(tasks ...int) (out []string) {
	for _, n := range tasks {
		out = append(out, attempt(n).String())
	}
	return out
}

func (w *world) wantGrants(id string, after int64, tasks ...int) {
	w.t.Helper()
	if got, _ := w.await(id, after); !slices.Equal(got, names(tasks...)) {
		w.t.Errorf("executor %s after %d: %v, want %v", id, after, got, names(tasks...))
	}
}

func (w *world) finish(id string, how int, tasks ...int) {
	w.t.Helper()
	ends := make([]api.GrantEnd, len(tasks))
	for i, n := range tasks {
		ends[i] = api.GrantEnd{ID: attempt(n).String(), How: how, Reason: "because"}
	}
	if err := w.EndGrants(context.Background(), executor(id), ends); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) wantServing(apps ...string) {
	w.t.Helper()
	if got := slices.Concat(w.Serving(), w.holds.Serving()); !slices.Equal(got, apps) {
		w.t.Errorf("serving %v, want %v", got, apps)
	}
}

func problemOf(err error) api.Problem {
	var e *api.Error
	if !errors.As(err, &e) {
		return 0
	}
	return e.Problem
}
