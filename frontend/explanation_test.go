package frontend_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/frontend"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/daemontest"
)

// TestExplainAfterARestart: while a master and a frontend that were restarted do not know where the task
// of a job is, the explanation says why.
func TestExplainAfterARestart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := w.master()
	w.node(0, 1)
	f := w.frontend()
	w.submit(f, sleeps("job", 1, time.Hour))
	running := func(f *frontOf) bool {
		t.Helper()
		e, err := f.Explain(t.Context(), "job")
		if err != nil {
			t.Fatal(err)
		}
		text := strings.Join(e.Why, " ")
		if e.Status.Running == 0 && !strings.Contains(text, "No daemon has reported yet") && !strings.Contains(text, "cannot be reached") && !strings.Contains(text, "1 waits in queues") && !strings.Contains(text, "held at frontend") {
			t.Errorf("no reason is given: %q", e.Why)
		}
		return e.Status.Running == 1
	}
	daemontest.Await(t, "it runs", func() bool { return running(f) })
	f.process.Stop()
	w.restart(m)
	f = w.runFrontend(f.cfg)
	daemontest.Await(t, "it is known to run", func() bool { return running(f) })
	if _, err := f.Cancel(t.Context(), "job"); err != nil {
		t.Error(err)
	}
}

// The explanation of a job that ends while the masters are asked is that of its end.
func TestExplainAJobThatEndsMeanwhile(t *testing.T) {
	t.Parallel()
	group, f := withCountingGroup(t)
	group.viewed = func() {
		if s, err := f.Cancel(context.Background(), "job"); err != nil || s.State != api.StateCancelled {
			t.Errorf("%+v, %v", s, err)
		}
	}
	if _, _, err := f.Submit(t.Context(), sleeps("job", 1, time.Hour)); err != nil {
		t.Fatal(err)
	}
	e, err := f.Explain(t.Context(), "job")
	if err != nil || e.Status.State != api.StateCancelled || strings.Contains(strings.Join(e.Why, " "), "No daemon has reported yet") {
		t.Errorf("%+v, %v", e, err)
	}
	if group.views.Load() != 1 {
		t.Errorf("the master was asked %d times", group.views.Load())
	}
}

// The explanation of a job that ends and leaves memory while the masters are asked is that of its end, from the
// journal.
func TestExplainAJobThatLeavesMemoryMeanwhile(t *testing.T) {
	t.Parallel()
	group, f := withCountingGroup(t, func(c *frontend.Config) { c.MaxEnded = 1 })
	group.viewed = func() {
		for _, job := range []string{"job", "later", "last"} {
			if s, err := f.Cancel(context.Background(), job); err != nil || s.State != api.StateCancelled {
				t.Errorf("%+v, %v", s, err)
			}
		}
	}
	for _, job := range []string{"job", "later", "last"} {
		if _, _, err := f.Submit(t.Context(), sleeps(job, 1, time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	e, err := f.Explain(t.Context(), "job")
	if err != nil || e.Status.State != api.StateCancelled || strings.Contains(strings.Join(e.Why, " "), "No daemon has reported yet") {
		t.Errorf("%+v, %v", e, err)
	}
}
