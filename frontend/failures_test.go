package frontend_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/frontend"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/daemontest"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// A job that still runs is explained as before by a frontend that is started again, and by a
// standby that has taken it over: with the nodes, times, exit statuses and codes of tasks that
// failed, and of attempts that others followed.
func TestFailuresAfterRestart(t *testing.T) {
	t.Parallel()
	t.Run("local", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.master()
		failuresAfterRestart(t, w, w.frontend(), w.restartFrontend)
	})
	t.Run("replicated", func(t *testing.T) {
		t.Parallel()
		w := newShared(t)
		steady := func(c *frontend.Config) { c.LeaderTTL = 20 * time.Second } // no leadership is to lapse
		w.master()
		failuresAfterRestart(t, w.world, w.leads(w.begin(steady)), func(former *frontOf) *frontOf {
			next := w.begin(steady)
			w.standsBy(next, former)
			former.process.Stop()
			return w.leads(next)
		})
	})
}

// failuresAfterRestart compares what a frontend tells of the failures of a job with what the next
// process tells, which restart begins, and the one after it.
func failuresAfterRestart(t *testing.T, w *world, f *frontOf, restart func(*frontOf) *frontOf) {
	t.Helper()
	r := sleeps("job", 3, time.Hour)
	r.Retries = 1
	w.submit(f, r)
	n := nodeOfFrontend(t, f, "n")
	failed(t, n, f, sched.AttemptID{Task: 0, Attempt: 1}, wire.Extra{Exit: 137, Code: api.CodeOutOfMemory})
	failed(t, n, f, sched.AttemptID{Task: 0, Attempt: 2}, wire.Extra{Exit: 3})
	failed(t, n, f, sched.AttemptID{Task: 1, Attempt: 1}, wire.Extra{Exit: 4})
	failed(t, n, f, sched.AttemptID{Task: 1, Attempt: 2}, wire.Extra{Code: api.CodeNotAllowed})
	failed(t, n, f, sched.AttemptID{Task: 2, Attempt: 1}, wire.Extra{Exit: 5, Code: api.CodeTimeLimit})
	want := failuresOf(t, f)
	if len(want) != 5 || want[1].Code != api.CodeNotAllowed || want[2].Exit != 137 || want[2].Code != api.CodeOutOfMemory || want[4].Node != "n" {
		t.Fatalf("before the restart: %+v", want)
	}
	for _, when := range []string{"after the restart", "after another"} {
		f = restart(f)
		if got := failuresOf(t, f); !reflect.DeepEqual(got, want) {
			t.Errorf("%s\ngot  %+v\nwant %+v", when, got, want)
		}
	}
}

// failed reports the failure of an attempt at a task of the job "job", and waits until it counts.
func failed(t *testing.T, n *daemontest.Peer, f *frontOf, id sched.AttemptID, x wire.Extra) {
	t.Helper()
	before := len(failuresOf(t, f))
	id.Job = f.JobID("job")
	x.Started = time.Now().Add(time.Second)
	x.Elapsed, x.Finished, x.Secret = 1500*time.Millisecond, x.Started.Add(1500*time.Millisecond), f.Secret(id)
	daemontest.Await(t, "the failure counts", func() bool { // not before the attempt is due
		reportTo(t, n, f, sched.Message{Kind: sched.Report, Job: id.Job, First: id.Task, Attempt: id.Attempt, Outcome: sched.Failed, Reason: "it failed"}, x)
		return len(failuresOf(t, f)) == before+1
	})
}

// failuresOf returns what a frontend tells of the tasks of the job "job" that failed, and then of
// attempts that others followed.
func failuresOf(t *testing.T, f *frontOf) (list []api.TaskStatus) {
	t.Helper()
	e, err := f.Explain(t.Context(), "job")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range e.Tasks {
		if s.State == string(api.StateFailed) || s.State == "retried" {
			list = append(list, s)
		}
	}
	return list
}
