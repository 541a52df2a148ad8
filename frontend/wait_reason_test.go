package frontend_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/daemontest"
	"github.com/pigeon-sched/pigeon/internal/policy/pigeon"
	"github.com/pigeon-sched/pigeon/master"
	"github.com/pigeon-sched/pigeon/nodemonitor"
)

// explained waits until an explanation of the job has the reason in its only group and all words.
func (w *world) explained(f *frontOf, job string, reason api.WaitReason, words ...string) (share api.GroupShare) {
	w.t.Helper()
	var e *api.Explanation
	defer func() {
		if w.t.Failed() && e != nil {
			w.t.Logf("%+v: %s", e.Groups, strings.Join(e.Why, "\n"))
		}
	}()
	daemontest.Await(w.t, job+" is explained by "+string(reason), func() bool {
		var err error
		if e, err = f.Explain(w.t.Context(), job); err != nil {
			w.t.Fatal(err)
		}
		text := strings.Join(e.Why, " ")
		return len(e.Groups) == 1 && e.Groups[0].Reason == reason && !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(text, word) })
	})
	return e.Groups[0]
}

// The explanation of a long job names idle workers that it may not use and the wait of the long
// queue, that of a short one busy workers and the wait of its own queue.
func TestReasonsOfBothClasses(t *testing.T) {
	w := newWorld(t)
	w.master(func(c *master.Config) { c.Reserved = 0.5 })
	f := w.frontend()
	w.node(0, 2, func(c *nodemonitor.Config) { c.Reserved = 0.5 })
	for _, key := range []string{"long-1", "long-2"} {
		r := sleeps(key, 1, time.Hour)
		r.Class = "long"
		w.submit(f, r)
		if key == "long-1" {
			daemontest.Await(t, "the general worker is busy", func() bool { s, err := f.Status(t.Context(), key); return err == nil && s.Running == 1 })
		}
	}
	if g := w.explained(f, "long-2", api.WaitsForGeneral, "1 idle worker is reserved for short tasks", "1 long ones", "The oldest long one waits"); g.OldestLong <= 0 || g.OldestShort != 0 {
		t.Errorf("%+v", g)
	}
	w.submit(f, sleeps("short-1", 1, time.Hour))
	daemontest.Await(t, "the reserved worker is busy", func() bool { s, err := f.Status(t.Context(), "short-1"); return err == nil && s.Running == 1 })
	w.submit(f, sleeps("short-2", 1, time.Hour))
	if g := w.explained(f, "short-2", api.WaitsForWorker, "1 short ones", "The oldest short one waits"); g.OldestShort <= 0 || g.OldestShort >= g.OldestLong || g.OldestWait != g.OldestLong {
		t.Errorf("%+v", g)
	}
	for _, key := range []string{"long-1", "long-2", "short-1", "short-2"} {
		if _, err := f.Cancel(t.Context(), key); err != nil {
			t.Error(err)
		}
	}
}

// Tasks of a job whose class was not declared wait among the long ones when its running tasks
// have shown that they are long.
func TestReasonOfATurnedJob(t *testing.T) {
	w := newWorld(t)
	w.master(func(c *master.Config) { c.Policy, c.Cutoff = pigeon.Name, 50*time.Millisecond })
	f := w.frontend()
	w.node(0, 1)
	r := sleeps("undeclared", 2, time.Hour)
	r.Class = ""
	w.submit(f, r)
	w.explained(f, "undeclared", api.WaitsForWorker, "It is a long job: its tasks showed that", "1 of its tasks waits among 1 long ones")
	if _, err := f.Cancel(t.Context(), "undeclared"); err != nil {
		t.Error(err)
	}
}

// The explanation reports a group without its master.
func TestReasonWithoutAMaster(t *testing.T) {
	w := newWorld(t)
	m := w.master()
	f := w.frontend()
	w.submit(f, sleeps("held", 1, 0))
	m.process.Stop()
	w.explained(f, "held", api.WaitsForMaster)
}
