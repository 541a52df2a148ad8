package frontend_test

import (
	"strings"
	"testing"
	"time"

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
