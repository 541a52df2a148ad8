package frontend_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/client"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/await"
)

// A script counts once for its job, not for each task: on the way to the frontend, in what it holds
// and journals, and on the way to the masters.
func TestALongScriptOfAHundredThousandTasks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := w.master()
	w.node(0, 4)
	f := w.frontend()
	c, err := client.New(client.Options{Addresses: []string{f.Addr()}, Timeout: time.Minute, Retry: time.Minute, Say: func(string) {}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	tasks, sizes := api.MaxTasks, []int{5 << 9, 64 << 10}
	if testing.Short() {
		tasks, sizes = 20_000, sizes[1:]
	}
	for _, size := range sizes {
		key := strconv.Itoa(size)
		run := &api.Exec{Argv: []string{"run.sh"}, Env: []string{"K=v"}, Script: []byte("#!/bin/sh\nexit 0\n" + strings.Repeat("#", size))}
		r := &api.Request{Key: key, Backend: api.BackendExec, Tasks: make([]api.Task, tasks)}
		for i := range r.Tasks {
			r.Tasks[i] = api.Task{ID: strconv.Itoa(i), Payload: api.Payload{Backend: api.BackendExec, Exec: run}}
		}
		if _, _, err := c.Submit(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		ended := func(n int) func() bool {
			return func() bool { s, err := f.Status(t.Context(), key); return err == nil && s.Completed >= n }
		}
		await.Until(t, "tasks have ended", ended(5))
		f = w.restartFrontend(f)
		s, err := f.Status(t.Context(), key)
		if err != nil || s.Tasks != tasks || s.Failed > 0 {
			t.Fatalf("after a restart: %+v, %v", s, err)
		}
		await.Until(t, "more tasks have ended", ended(s.Completed+5))
		if _, err := f.Cancel(t.Context(), key); err != nil {
			t.Fatal(err)
		}
		await.Until(t, "the master has dropped it", func() bool { return m.state(t).QueuedShort == 0 })
	}
}
