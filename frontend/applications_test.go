package frontend_test

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/frontend"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/apptest"
	"github.com/pigeon-sched/pigeon/internal/daemontest"
	"github.com/pigeon-sched/pigeon/nodemonitor"
)

// driver starts an application with executors.
func (w *world) driver(s apptest.Spec) *apptest.Driver {
	w.t.Helper()
	d, err := apptest.Start(s)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = d.Close(false) }) // twice is once
	return d
}

// awaitRunning waits until n executors run and are connected.
func awaitRunning(t *testing.T, d *apptest.Driver, n int) {
	t.Helper()
	defer func() {
		if t.Failed() {
			t.Logf("executors %+v; the last refusal: %v; notes: %v", d.States(), d.Failure(), d.Notes())
		}
	}()
	daemontest.Await(t, fmt.Sprintf("%d executors run", n), func() bool { return len(d.Running()) == n && len(d.Pids()) == n })
}

func awaitEnded(t *testing.T, d *apptest.Driver, level string, n int) {
	t.Helper()
	daemontest.Await(t, fmt.Sprintf("%d pieces of %s have ended", n, level), func() bool { return d.Ended(level) >= n })
	if got := d.Ended(level); got != n {
		t.Errorf("%d pieces of %s ended, of %d", got, level, n)
	}
}

// awaitExit waits until processes have ended.
func awaitExit(t *testing.T, pids map[string]int) {
	t.Helper()
	for id, pid := range pids {
		daemontest.Await(t, fmt.Sprintf("the process of executor %s has ended", id), func() bool { return syscall.Kill(pid, 0) != nil })
	}
}

// small configures a node with little memory.
func small(mb int64) func(*nodemonitor.Config) {
	return func(c *nodemonitor.Config) { c.Memory = mb }
}

// An application with two executors on two nodes gets slots alongside other jobs, runs
// each piece of work once, and leaves nothing when it ends.
func TestApplication(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.master()
	nodes := []*nodeOf{w.node(0, 2, small(100)), w.node(0, 2, small(100))}
	f := w.frontend()
	d := w.driver(apptest.Spec{ID: "app-1", Frontends: []string{f.Addr()}, Executors: 2, Slots: 2, Memory: 60})
	awaitRunning(t, d, 2)
	if s := d.States(); s[0].Node == s[1].Node {
		t.Errorf("both executors are on one node: %+v", s)
	}
	other := w.submit(f, sleeps("beside", 20, 20*time.Millisecond))
	d.Add("stage 0", "short", 40, 10*time.Millisecond)
	d.Add("stage 1", "long", 20, 10*time.Millisecond)
	awaitEnded(t, d, "stage 0", 40)
	awaitEnded(t, d, "stage 1", 20)
	w.done(f, other)
	if n := d.Declined(); n > 10 { // a node that counted as lost for a moment is no fault here
		t.Errorf("%d grants were declined", n)
	}
	if list, err := f.List(t.Context(), 0, ""); err != nil || len(list) != 1 {
		t.Errorf("jobs of grants are listed: %+v, %v", list, err)
	}
	e, err := f.Explain(t.Context(), "app-1")
	if err != nil || !strings.Contains(strings.Join(e.Why, " "), "Executor 1 is running") {
		t.Errorf("%+v, %v", e, err)
	}
	pids := d.Pids()
	if err := d.Close(true); err != nil {
		t.Error(err)
	}
	awaitExit(t, pids)
	w.awaitIdle(nodes)
}

// An application that waits for grants which no executor could take is told so.
func TestExplainWithoutExecutors(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.master()
	w.node(0, 2, small(100))
	f := w.frontend()
	d := w.driver(apptest.Spec{ID: "app-1", Frontends: []string{f.Addr()}, Executors: 0, Slots: 2, Memory: 60})
	explained := func(unserved bool) func() bool {
		return func() bool {
			e, err := f.Explain(t.Context(), "app-1")
			return err == nil && strings.Contains(strings.Join(e.Why, " "), "No slot serves it now") == unserved
		}
	}
	daemontest.Await(t, "it is registered, and waits for nothing", explained(false))
	d.Add("stage 0", "short", 4, time.Millisecond)
	daemontest.Await(t, "the explanation says that no slot serves it", explained(true))
	if err := d.Close(true); err != nil {
		t.Error(err)
	}
}

// awaitIdle waits until no slot of the nodes is in use.
func (w *world) awaitIdle(nodes []*nodeOf) {
	w.t.Helper()
	daemontest.Await(w.t, "every slot is free", func() bool {
		busy := 0
		for _, p := range w.masters {
			s, err := w.peer(p).MasterState(w.t.Context())
			if err != nil {
				return false
			}
			busy += s.BusyGeneral + s.BusyReserved + s.QueuedShort + s.QueuedLong
		}
		return busy == 0
	})
}

// A level that needs no more slots while pieces of it run is granted none, although slots
// become free: no waiting grant is left to be returned.
func TestNothingMoreIsWanted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.master()
	nodes := []*nodeOf{w.node(0, 2, small(100))}
	f := w.frontend()
	d := w.driver(apptest.Spec{ID: "app-1", Frontends: []string{f.Addr()}, Executors: 2, Slots: 2, Memory: 60})
	awaitRunning(t, d, 1)
	d.Add("stage", "short", 200, 3*time.Second)
	daemontest.Await(t, "two pieces run", func() bool { return len(d.Waits()) == 2 })
	d.Drop("stage")
	nodes = append(nodes, w.node(0, 2, small(100)))
	awaitRunning(t, d, 2)
	d.Add("next", "short", 4, time.Millisecond)
	awaitEnded(t, d, "next", 4)
	awaitEnded(t, d, "stage", 2)
	if n := d.Declined(); n > 4 {
		t.Errorf("%d grants came that were not asked for", n)
	}
	if err := d.Close(true); err != nil {
		t.Error(err)
	}
	w.awaitIdle(nodes)
}

// An application that is cancelled by another user ends, with its executors; its
// process learns why, and is not registered again.
func TestApplicationCancelled(t *testing.T) {
	w := newWorld(t)
	w.master()
	nodes := []*nodeOf{w.node(0, 2, small(100))}
	f := w.frontend()
	d := w.driver(apptest.Spec{ID: "app-1", Frontends: []string{f.Addr()}, Executors: 1, Slots: 2, Memory: 60})
	awaitRunning(t, d, 1)
	d.Add("stage", "short", 100, time.Minute)
	daemontest.Await(t, "two pieces run", func() bool { return len(d.Waits()) == 2 })
	pids := d.Pids()
	s, err := f.Cancel(t.Context(), "app-1")
	if err != nil || s.State != api.StateCancelled || s.App != "app-1" {
		t.Errorf("%+v, %v", s, err)
	}
	awaitExit(t, pids)
	daemontest.Await(t, "it hears why", func() bool {
		err := d.Failure()
		return err != nil && strings.Contains(err.Error(), "cancelled by its user")
	})
	w.awaitIdle(nodes)
	if _, err := f.Explain(t.Context(), "app-1"); err == nil {
		t.Error("it is there again")
	}
}

// An executor that is killed is replaced, and its work is done elsewhere.
func TestExecutorKilled(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.master()
	nodes := []*nodeOf{w.node(0, 2, small(200))}
	f := w.frontend()
	d := w.driver(apptest.Spec{ID: "app-1", Frontends: []string{f.Addr()}, Executors: 2, Slots: 1, Memory: 60})
	awaitRunning(t, d, 2)
	d.Add("stage", "short", 60, 30*time.Millisecond)
	daemontest.Await(t, "it is under way", func() bool { return d.Ended("stage") > 4 })
	if err := syscall.Kill(d.Pids()["1"], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	awaitEnded(t, d, "stage", 60)
	daemontest.Await(t, "a third is there", func() bool { return len(d.Pids()) == 2 && d.Pids()["3"] != 0 })
	if s := d.States()[0]; s.State != api.ExecutorExited || s.ExitStatus != 137 || !strings.Contains(s.Reason, "signal 9") {
		t.Errorf("%+v", s)
	}
	if err := d.Close(true); err != nil {
		t.Error(err)
	}
	w.awaitIdle(nodes)
}

// An application that is killed loses its executors when its lease ends; the
// executors of this test end by themselves, as Spark's do, and are not replaced forever.
func TestApplicationKilled(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.master()
	nodes := []*nodeOf{w.node(0, 2, small(200))}
	f := w.frontend(func(c *frontend.Config) { c.ApplicationLease = 3 * time.Second })
	d := w.driver(apptest.Spec{ID: "app-1", Frontends: []string{f.Addr()}, Executors: 1, Slots: 2, Memory: 60})
	awaitRunning(t, d, 1)
	d.Add("stage", "short", 1000, 30*time.Millisecond)
	daemontest.Await(t, "it is under way", func() bool { return d.Ended("stage") > 4 })
	pids := d.Pids()
	if err := d.Close(false); err != nil {
		t.Error(err)
	}
	awaitExit(t, pids)
	daemontest.Await(t, "it is forgotten", func() bool { _, err := f.Explain(t.Context(), "app-1"); return err != nil })
	w.awaitIdle(nodes)
}

// The second frontend takes over an application with its executors when the first one has
// ended.
func TestFrontendGone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.master()
	nodes := []*nodeOf{w.node(0, 2, small(100)), w.node(0, 2, small(100))}
	first := w.frontend()
	second := w.frontend(func(c *frontend.Config) { c.ID = w.frontendID(1) })
	d := w.driver(apptest.Spec{ID: "app-1", Frontends: []string{first.Addr(), second.Addr()}, Executors: 2, Slots: 2, Memory: 60})
	awaitRunning(t, d, 2)
	before := d.Pids()
	d.Add("stage", "short", 200, 30*time.Millisecond)
	daemontest.Await(t, "it is under way", func() bool { return d.Ended("stage") > 4 })
	first.process.Stop()
	awaitEnded(t, d, "stage", 200)
	if after := d.Pids(); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("executors were %v and are %v", before, after)
	}
	if err := d.Close(true); err != nil {
		t.Error(err)
	}
	awaitExit(t, before)
	w.awaitIdle(nodes)
}

// A restarted frontend serves its applications again, with their executors.
func TestFrontendBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.master()
	nodes := []*nodeOf{w.node(0, 2, small(100)), w.node(0, 2, small(100))}
	f := w.frontend()
	d := w.driver(apptest.Spec{ID: "app-1", Frontends: []string{f.Addr()}, Executors: 2, Slots: 2, Memory: 60})
	awaitRunning(t, d, 2)
	before := d.Pids()
	d.Add("stage", "short", 100, 30*time.Millisecond)
	daemontest.Await(t, "it is under way", func() bool { return d.Ended("stage") > 4 })
	f = w.restartFrontend(f)
	awaitEnded(t, d, "stage", 100)
	daemontest.Await(t, "it has them", func() bool {
		e, err := f.Explain(t.Context(), "app-1")
		return err == nil && strings.Contains(strings.Join(e.Why, " "), "Executor 1 is running on") && strings.Contains(strings.Join(e.Why, " "), "Executor 2 is running on")
	})
	if after := d.Pids(); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("executors were %v and are %v", before, after)
	}
	if err := d.Close(true); err != nil {
		t.Error(err)
	}
	awaitExit(t, before)
	w.awaitIdle(nodes)
}

// The executors of a lost node are replaced on other nodes.
func TestNodeGone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.master()
	lost := w.node(0, 2, small(60))
	f := w.frontend()
	d := w.driver(apptest.Spec{ID: "app-1", Frontends: []string{f.Addr()}, Executors: 1, Slots: 2, Memory: 60})
	awaitRunning(t, d, 1)
	nodes := []*nodeOf{w.node(0, 2, small(60))}
	d.Add("stage", "short", 100, 30*time.Millisecond)
	daemontest.Await(t, "it is under way", func() bool { return d.Ended("stage") > 4 })
	lost.process.Stop()
	awaitEnded(t, d, "stage", 100)
	if err := d.Close(true); err != nil {
		t.Error(err)
	}
	w.awaitIdle(nodes)
}

// An application that uses no grants occupies the slots of its executors; other jobs wait
// for the remaining slots.
func TestUnusedGrants(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := w.master()
	nodes := []*nodeOf{w.node(0, 3, small(100))}
	f := w.frontend()
	d := w.driver(apptest.Spec{ID: "app-1", Frontends: []string{f.Addr()}, Executors: 1, Slots: 2, Memory: 60, Coarse: true})
	awaitRunning(t, d, 1)
	if s := m.state(t); s.BusyGeneral+s.BusyReserved != 2 {
		t.Errorf("%d slots are held", s.BusyGeneral+s.BusyReserved)
	}
	w.done(f, w.submit(f, sleeps("beside", 6, 10*time.Millisecond)))
	if err := d.Close(true); err != nil {
		t.Error(err)
	}
	w.awaitIdle(nodes)
}

// Under the policies whose workers run only sleep and exec tasks, an application with
// executors is refused at once.
func TestApplicationUnderRivals(t *testing.T) {
	w := newWorld(t)
	w.masters = []string{"127.0.0.1:1"}
	cfg := w.settings()
	cfg.Policy = "sparrow"
	f, err := frontend.New(cfg, daemontest.Log(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() }) // nothing was written
	_, err = f.Applications().RegisterApplication(t.Context(), &api.Application{ID: "a", Template: api.Template{Argv: []string{"x"}, Memory: 1}})
	if err == nil || !strings.Contains(err.Error(), "policy sparrow runs sleep and exec tasks only") {
		t.Error(err)
	}
}

// Impossible requests are errors in four parts, within the time of a test.
func TestApplicationRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.master()
	w.node(0, 2, small(100))
	f := w.frontend()
	first := w.driver(apptest.Spec{ID: "app-1", Frontends: []string{f.Addr()}, Executors: 1, Slots: 2, Memory: 60})
	awaitRunning(t, first, 1)

	twin := w.driver(apptest.Spec{ID: "app-1", Frontends: []string{f.Addr()}, Executors: 1, Slots: 2, Memory: 60})
	daemontest.Await(t, "a second one with its id is refused", func() bool {
		err := twin.Failure()
		return err != nil && strings.Contains(err.Error(), "another process with this id is alive")
	})
	large := w.driver(apptest.Spec{ID: "app-2", Frontends: []string{f.Addr()}, Executors: 1, Slots: 2, Memory: 60})
	daemontest.Await(t, "one that finds no memory waits, and learns which application has it", func() bool {
		s := large.States()
		return len(s) == 1 && s[0].State == api.ExecutorWaiting && strings.Contains(s[0].Reason, "60 MB")
	})
	never := w.driver(apptest.Spec{ID: "app-3", Frontends: []string{f.Addr()}, Executors: 1, Slots: 2, Memory: 600})
	daemontest.Await(t, "memory that fits nowhere is final", func() bool {
		s := never.States()
		return len(s) == 1 && s[0].Final && strings.Contains(s[0].Reason, "600 MB")
	})
	broken := w.driver(apptest.Spec{ID: "app-4", Frontends: []string{f.Addr()}, Executors: 1, Slots: 2, Memory: 10, Argv: []string{"/nowhere/bin/java"}})
	daemontest.Await(t, "a program that is nowhere is final", func() bool {
		for _, s := range broken.States() {
			if s.Final && strings.Contains(s.Reason, "/nowhere/bin/java") {
				return true
			}
		}
		return false
	})
}
