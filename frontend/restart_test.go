package frontend_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/frontend"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/await"
	"github.com/pigeon-sched/pigeon/internal/daemontest"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/master"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// A frontend that is stopped while jobs run resumes them after its restart: nothing is
// lost, and nothing is launched twice although its master held its tasks all the
// time.
func TestFrontendRestart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := w.master()
	w.node(0, 4)
	f := w.frontend()
	out, gate := t.TempDir(), newGate(t)
	began := time.Now()
	for i := range 6 {
		w.submit(f, gated(fmt.Sprint("job-", i), 5, gate, out))
	}
	daemontest.Await(t, "some run and some wait", func() bool { s := m.state(t); return s.Launches >= 4 && s.QueuedShort >= 5 })
	open(t, gate)
	f = w.restartFrontend(f)
	for i := range 6 {
		s := w.done(f, fmt.Sprint("job-", i))
		if s.Attempts != 5 || s.Seconds <= 0 || s.Seconds > time.Since(began).Seconds()+0.01 || s.Ended < s.Submitted {
			t.Errorf("%+v after %v", s, time.Since(began))
		}
	}
	if l := m.state(t).Launches; l != 30 {
		t.Errorf("%d launches of 30 tasks", l)
	}
	f = w.restartFrontend(f)
	s, err := f.Status(t.Context(), "job-3")
	if err != nil || s.State != api.StateCompleted || s.Completed != 5 {
		t.Errorf("an ended job after another restart: %+v, %v", s, err)
	}
	if _, duplicate, err := f.Submit(t.Context(), gated("job-3", 5, gate, out)); err != nil || !duplicate {
		t.Errorf("its key again: duplicate %v, %v", duplicate, err)
	}
	if s, err := f.Wait(t.Context(), "job-3", time.Second); err != nil || s.Completed != 5 {
		t.Errorf("waiting for it: %+v, %v", s, err)
	}
	if l := m.state(t).Launches; l != 30 {
		t.Errorf("%d launches after the job was submitted again", l)
	}
}

// Ended jobs are listed after a restart as before, and the nodes of their tasks are known; so are
// those of the ended tasks of a job that has not ended.
func TestEndedJobsAfterRestart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.master()
	w.node(0, 2)
	f := w.frontend()
	for _, key := range []string{"first", "second"} {
		w.submit(f, script(key, `echo of "$1"`, key))
		w.done(f, key)
	}
	open := script("open", "echo ended", "")
	open.Tasks = append(open.Tasks, script("", "exec sleep 1000", "").Tasks...)
	w.submit(f, open)
	await.Until(t, "one of its tasks has ended", func() bool { s, err := f.Status(t.Context(), "open"); return err == nil && s.Completed == 1 })
	w.submit(f, script("third", "exit 3", ""))
	if s, err := f.Wait(t.Context(), "third", time.Minute); err != nil || s.State != api.StateFailed {
		t.Fatalf("%+v, %v", s, err)
	}
	before, err := f.List(t.Context(), 0, "")
	if err != nil {
		t.Fatal(err)
	}
	f = w.restartFrontend(f)
	after, err := f.List(t.Context(), 0, "")
	if err != nil || len(after) != 4 {
		t.Fatalf("%d jobs are listed: %v", len(after), err)
	}
	for i := range after {
		if after[i].Job != before[i].Job || after[i].State.Ended() && after[i] != before[i] {
			t.Errorf("%+v was %+v", after[i], before[i])
		}
	}
	for job, part := range map[string]string{"second": "of second", "open": "ended"} {
		if c, err := f.TaskLog(t.Context(), wire.LogRequest{Job: job, Stream: "stdout", Limit: 100}); err != nil || !strings.Contains(string(c.Data), part) {
			t.Errorf("the output of %s: %q, %v", job, c.Data, err)
		}
	}
	e, err := f.Explain(t.Context(), "third")
	if err != nil || len(e.Tasks) != 1 || e.Tasks[0].Exit != 3 || e.Tasks[0].Node == "" {
		t.Errorf("explained: %+v, %v", e, err)
	}
}

// A master that mistook another process for the frontend's, because a hello of that process
// arrived late, has dropped the frontend's messages. The frontend learns of it with its next
// hello and sends them again.
func TestTakenForAnother(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := w.master()
	w.node(0, 2)
	f := w.frontend()
	w.done(f, w.submit(f, sleeps("a", 2, 0)))
	var list wire.Membership
	await.Until(t, "the membership lists the frontend", func() bool {
		var err error
		list, err = m.Membership(t.Context(), 0, 0, 0)
		return err == nil && len(list.Frontends) == 1
	})
	self := list.Frontends[0]
	r, err := m.Hello(t.Context(), &wire.Hello{Sender: wire.Ref{Role: sched.Distributor, Name: self.Name}, Incarnation: self.Incarnation + 1, Address: self.Address})
	if err != nil || !r.Accepted {
		t.Fatalf("the hello of another process: %+v, %v", r, err)
	}
	w.done(f, w.submit(f, sleeps("b", 2, 0)))
}

// The completion time of a job includes the time of a restart.
func TestResumedJobsAge(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.master()
	f := w.frontend()
	w.submit(f, sleeps("old", 1, 0)) // held: there is no node
	accepted := time.Now()
	f = w.restartFrontend(f)
	age := time.Since(accepted).Seconds()
	w.node(0, 1)
	if s := w.done(f, "old"); s.Seconds < age || s.Seconds > s.Ended-s.Submitted+0.01 {
		t.Errorf("completion %v s of a job that was %v s old when the frontend was back: %+v", s.Seconds, age, s)
	}
}

// A frontend with an emptied data folder is new to its masters, which accept what it
// sends as new.
func TestEmptyDataFolder(t *testing.T) {
	w := newWorld(t)
	w.master()
	w.node(0, 2)
	f := w.frontend()
	w.done(f, w.submit(f, sleeps("a", 20, 0)))
	f.cfg.Data = t.TempDir()
	f = w.restartFrontend(f)
	w.done(f, w.submit(f, sleeps("b", 20, 0)))
}

// Results that come while their frontend is down are kept by the nodes.
func TestReportsDuringRestart(t *testing.T) {
	t.Parallel()
	for _, nats := range []bool{true, false} {
		t.Run(fmt.Sprint("NATS ", nats), func(t *testing.T) {
			w := &world{t: t}
			if nats {
				w = newWorld(t)
			}
			m := w.master()
			w.node(0, 4)
			f := w.frontend()
			w.submit(f, sleeps("job", 8, 100*time.Millisecond))
			daemontest.Await(t, "it runs", func() bool { return m.state(t).Launches >= 4 })
			f.process.Stop()
			daemontest.Await(t, "all has run meanwhile", func() bool { s := m.state(t); return s.Launches == 8 && s.BusyGeneral+s.BusyReserved == 0 })
			f = w.runFrontend(f.cfg)
			if s := w.done(f, "job"); s.Attempts != 8 {
				t.Errorf("%+v", s)
			}
		})
	}
}

// A restarted master receives the tasks that it should hold, and launches none that run or
// have ended.
func TestMasterRestart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := w.master()
	w.node(0, 4)
	f := w.frontend()
	gate := newGate(t)
	for i := range 4 {
		w.submit(f, gated(fmt.Sprint("job-", i), 5, gate, t.TempDir()))
	}
	daemontest.Await(t, "some run and some wait", func() bool { return m.state(t).QueuedShort >= 12 })
	before := m.state(t)
	m = w.restart(m)
	open(t, gate)
	w.submit(f, sleeps("new", 2, 0))
	for i := range 4 {
		if s := w.done(f, fmt.Sprint("job-", i)); s.Attempts < 5 || s.Attempts > 10 { // what the master had queued has other numbers
			t.Errorf("%+v", s)
		}
	}
	w.done(f, "new")
	after := m.state(t)
	if after.Epoch != before.Epoch+1 {
		t.Errorf("epoch %d after %d", after.Epoch, before.Epoch)
	}
	if l := before.Launches + after.Launches; l != 22 {
		t.Errorf("%d + %d launches of 22 tasks", before.Launches, after.Launches)
	}
}

// The tasks of a group whose master stays away are distributed again, as new
// attempts that count as no loss.
func TestMasterLost(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.master()
	gone := w.master()
	w.node(0, 2)
	f := w.frontend(func(c *frontend.Config) { c.MasterLost = time.Second })
	w.node(1, 1)
	daemontest.Await(t, "both groups serve", func() bool {
		states, err := f.Nodes(t.Context())
		return err == nil && states[0].Workers == 2 && states[1].Workers == 1
	})
	daemontest.Await(t, "a job waits at the group that will go", func() bool {
		w.submit(f, sleeps("", 6, 30*time.Millisecond))
		return gone.state(t).QueuedShort >= 6
	})
	gone.process.Stop()
	list, err := f.List(t.Context(), 0, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range list {
		w.done(f, s.Job)
	}
}

// Tasks that run at live nodes of a group without a master are started once: the nodes continue
// to report them.
func TestTasksRunOnWithoutTheirMaster(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.master()
	gone := w.master()
	w.node(0, 4)
	w.node(1, 2)
	f := w.frontend(func(c *frontend.Config) { c.MasterLost = time.Second })
	w.submit(f, sleeps("job", 4, 8*time.Second))
	daemontest.Await(t, "all run", func() bool { s, err := f.Status(t.Context(), "job"); return err == nil && s.Running == 4 })
	if s := gone.state(t); s.BusyGeneral+s.BusyReserved != 2 {
		t.Fatalf("%d and %d workers of the group are busy, want 2", s.BusyGeneral, s.BusyReserved)
	}
	gone.process.Stop()
	if s := w.done(f, "job"); s.Attempts != 4 {
		why, err := f.Explain(t.Context(), "job")
		t.Errorf("%d attempts of 4 tasks: %+v, %v", s.Attempts, why, err)
	}
}

// A group whose master was never there gets nothing; a job that a former
// configuration had placed there is taken back.
func TestMasterNeverReached(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.master()
	gone := w.master(func(c *master.Config) { c.HTTP = "" })
	w.node(1, 1)
	f := w.frontend(func(c *frontend.Config) { c.MasterLost = time.Second })
	w.submit(f, sleeps("job", 4, 10*time.Second))
	daemontest.Await(t, "it is placed at the group that will go", func() bool { s := gone.state(t); return s.QueuedShort+s.BusyGeneral == 4 })
	f.process.Stop()
	gone.process.Stop()
	w.node(0, 4)
	f = w.runFrontend(f.cfg)
	// One task runs at a node of the group without a master; the others had waited there.
	daemontest.Await(t, "the others run in the other group", func() bool { s, err := f.Status(t.Context(), "job"); return err == nil && s.Running == 3 })
	e, err := f.Explain(t.Context(), "job")
	if err != nil || len(e.Groups) != 2 || !e.Groups[0].Reachable || e.Groups[1].Reachable {
		t.Errorf("%+v, %v", e, err)
	}
	if _, err := f.Cancel(t.Context(), "job"); err != nil {
		t.Error(err)
	}
}

// A job that no group can run is held, is explained as such, and is sent out when a worker comes.
func TestUnplacedJob(t *testing.T) {
	w := newWorld(t)
	w.master()
	f := w.frontend()
	w.submit(f, sleeps("job", 3, 0))
	e, err := f.Explain(t.Context(), "job")
	if err != nil || !strings.Contains(strings.Join(e.Why, " "), "3 of its tasks are held at frontend "+f.cfg.ID) {
		t.Errorf("%+v, %v", e, err)
	}
	w.node(0, 1)
	w.done(f, "job")
}

// A cancelled job stays cancelled over restarts of both; its running tasks are killed and later
// results are only counted.
func TestCancel(t *testing.T) {
	w := newWorld(t)
	m := w.master()
	w.node(0, 2)
	f := w.frontend()
	w.submit(f, sleeps("job", 50, time.Hour))
	daemontest.Await(t, "it runs", func() bool {
		s, err := f.Status(t.Context(), "job")
		return err == nil && s.Running == 2 && s.State == api.StateRunning
	})
	s, err := f.Cancel(t.Context(), "job")
	if err != nil || s.State != api.StateCancelled || s.Reason == "" {
		t.Errorf("%+v, %v", s, err)
	}
	daemontest.Await(t, "nothing is left of it", func() bool { s := m.state(t); return s.QueuedShort == 0 && s.BusyGeneral+s.BusyReserved == 0 })
	for range 2 {
		if s, err = f.Cancel(t.Context(), "job"); err != nil || s.State != api.StateCancelled {
			t.Errorf("again: %+v, %v", s, err)
		}
		f = w.restartFrontend(f)
	}
	_, err = f.Cancel(t.Context(), "unknown")
	var e *api.Error
	if !errors.As(err, &e) || e.Problem != api.NotFound {
		t.Error(err)
	}
}
