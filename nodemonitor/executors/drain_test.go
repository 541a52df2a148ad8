package executors_test

import (
	"strings"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/await"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/nodemonitor/executors"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// A drain stops an executor that still waits for slots, and frees those that it has; one that
// runs goes on. The frontend is told of an end that is not the executor's fault.
func TestDrainWhileAnExecutorWaits(t *testing.T) {
	w := newWorld(t, func(c *executors.Config) { c.Lease = time.Hour }) // the end of it would free the slots
	w.order(shell("running", "sleep 1000"), "1")
	w.awaitState("running", "1", api.ExecutorRunning)
	a := shell("app", "sleep 1000")
	a.Grants, a.Template.Slots = false, 3
	w.order(a, "1")
	waits := func(id string) {
		t.Helper()
		w.await("it waits", func(h wire.Holdings) bool { return strings.Contains(state(h, "app", id).State.Reason, "3 slots") })
	}
	waits("1")
	done := w.offer("app/1", 2)
	w.Drain("node n is draining")
	for range 2 {
		select {
		case r := <-done:
			if r.Outcome != sched.Done {
				t.Errorf("a slot was freed as %+v", r)
			}
		case <-time.After(await.Limit):
			t.Fatal("a slot is held on a draining node, for an executor that never starts")
		}
	}
	if x := w.awaitState("app", "1", api.ExecutorExited); x.Refused || x.State.ExitStatus != -1 || !strings.Contains(x.State.Reason, "node n is draining, and it has not begun") || x.Ran <= 0 {
		t.Errorf("%+v", x)
	}
	if x := state(w.Held(), "running", "1"); x.State.State != api.ExecutorRunning {
		t.Errorf("the drain has changed an executor that runs: %+v", x)
	}
	w.order(a, "9")
	if x := w.awaitState("app", "9", api.ExecutorWaiting); !x.Refused {
		t.Errorf("an executor that is ordered meanwhile: %+v", x)
	}
	w.Drain("")
	w.order(a, "2")
	waits("2")
	w.offer("app/2", 3)
	w.awaitState("app", "2", api.ExecutorRunning)
}
