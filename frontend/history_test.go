package frontend_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/frontend"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/apptest"
	"github.com/pigeon-sched/pigeon/internal/await"
	"github.com/pigeon-sched/pigeon/internal/daemontest"
	"github.com/pigeon-sched/pigeon/internal/identity"
)

func history(t *testing.T, f *frontOf, p identity.Principal, q api.HistoryQuery) api.HistoryPage {
	t.Helper()
	page, err := f.As(p).History(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return page
}

// TestHistory: each job that ended is in the history once, with what it used, also after a
// restart of the frontend and when the folder is lost; users see their own jobs.
func TestHistory(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.master()
	w.node(0, 2)
	f := w.frontend()
	alice, bob, olga := person(identity.User, "alice"), person(identity.User, "bob"), person(identity.Operator, "olga")
	submit := func(p identity.Principal, r *api.Request) {
		t.Helper()
		if _, _, err := f.As(p).Submit(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		if _, err := f.As(p).Wait(t.Context(), r.Key, time.Minute); err != nil {
			t.Fatal(err)
		}
	}
	folder := t.TempDir()
	submit(alice, sleeps("done", 4, 20*time.Millisecond))
	again := script("again", `[ -e "$1/first" ] && exit 0; touch "$1/first"; sleep 0.02; exit 3`, folder)
	again.Retries = 1
	submit(identity.Self(), again)

	check := func(lost float64) {
		t.Helper()
		p := history(t, f, olga, api.HistoryQuery{})
		if len(p.Jobs) != 2 || p.Kept != 2 || p.Problem != "" || p.Dropped != 0 || p.Frontend != f.cfg.ID {
			t.Fatalf("%+v", p)
		}
		j := p.Jobs[slices.IndexFunc(p.Jobs, func(j api.JobUsage) bool { return j.Job == "done" })]
		s, err := f.Status(t.Context(), "done")
		if err != nil || j.Submitter != "alice" || j.Owner != "alice" || j.State != api.StateCompleted || j.Tasks != 4 || j.Completed != 4 || j.Class != s.Class ||
			j.SlotSeconds < 0.08 || j.LostSeconds != 0 || j.Again != 0 || !j.Started || j.Wait < 0 || j.LongestWait < j.Wait || j.LongestWait < 0.02 || j.Ended-j.Submitted < 0.04 {
			t.Errorf("%+v, %v", j, err)
		}
		j = history(t, f, olga, api.HistoryQuery{Job: "again"}).Jobs[0]
		if j.Again != 1 || j.Attempts != 2 || j.LostSeconds < lost || j.SlotSeconds <= 0 || j.Completed != 1 {
			t.Errorf("%+v", j)
		}
		for p, want := range map[identity.Principal]int64{alice: 1, bob: 0, identity.Self(): 2} {
			var jobs int64
			for _, s := range history(t, f, p, api.HistoryQuery{By: []string{api.ByOwner}}).Sums {
				jobs += s.Jobs
			}
			if jobs != want {
				t.Errorf("%v sees %d jobs, want %d", p, jobs, want)
			}
		}
		_, err = f.As(person(identity.Viewer, "vera")).History(t.Context(), api.HistoryQuery{})
		denied(t, "a viewer", err)
	}
	check(0.02)
	f = w.restartFrontend(f)
	check(0.02)
	f.process.Stop()
	if err := os.RemoveAll(filepath.Join(f.cfg.Data, "history")); err != nil {
		t.Fatal(err)
	}
	f = w.runFrontend(f.cfg)
	submit(alice, sleeps("", 1, 0)) // the folder is made for the first job
	p := history(t, f, olga, api.HistoryQuery{})
	if len(p.Jobs) != 3 {
		t.Fatalf("%+v", p.Jobs)
	}
	if j := history(t, f, olga, api.HistoryQuery{Job: "again"}).Jobs[0]; j.Again != 1 || j.LostSeconds < 0.02 {
		t.Errorf("from the journal: %+v", j)
	}
}

// TestLostSlotTime: the time for which a cancelled job's tasks had slots counts as lost, and the
// job as started, also when that becomes known after the end of the job.
func TestLostSlotTime(t *testing.T) {
	w := newWorld(t)
	w.master()
	w.node(0, 2)
	f := w.frontend()
	folder := t.TempDir()
	w.submit(f, script("stopped", `touch "$1/runs"; sleep 3600`, folder))
	w.awaitFiles(folder, 1)
	if _, err := f.Cancel(t.Context(), "stopped"); err != nil {
		t.Fatal(err)
	}
	var j api.JobUsage
	daemontest.Await(t, "the time of the task that was stopped", func() bool {
		p := history(t, f, identity.Self(), api.HistoryQuery{})
		if len(p.Jobs) != 1 {
			t.Fatalf("%+v", p.Jobs)
		}
		j = p.Jobs[0]
		return j.LostSeconds > 0
	})
	if j.State != api.StateCancelled || j.SlotSeconds != 0 || j.Reason == "" || !j.Started || j.Wait <= 0 || j.LongestWait != j.Wait || j.Wait > j.Ended-j.Submitted+1e-5 {
		t.Errorf("%+v", j)
	}
}

// TestNoHistory: a frontend without a history reports that, and its jobs end as usual.
func TestNoHistory(t *testing.T) {
	w := newWorld(t)
	w.master()
	w.node(0, 1)
	f := w.frontend(func(c *frontend.Config) { c.HistoryRetention = 0 })
	w.done(f, w.submit(f, sleeps("", 1, 0)))
	if p := history(t, f, identity.Self(), api.HistoryQuery{}); p.Problem == "" || len(p.Jobs) != 0 {
		t.Errorf("%+v", p)
	}
	if _, err := os.Stat(filepath.Join(f.cfg.Data, "history")); err == nil {
		t.Error("there is a folder")
	}
}

// An application with executors is in the history when it has ended, with what the levels of each owner used.
func TestApplicationInHistory(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.master()
	w.node(0, 2, small(100))
	f := w.frontend()
	d := w.driver(apptest.Spec{ID: "app-1", Owner: "team", Frontends: []string{f.Addr()}, Executors: 1, Slots: 2, Memory: 60})
	awaitRunning(t, d, 1)
	d.Add("stage", "short", 4, 20*time.Millisecond)
	awaitEnded(t, d, "stage", 4)
	d.AddLevel(api.Level{Name: "other", Class: "long", Owner: "lab"}, 2, 20*time.Millisecond)
	awaitEnded(t, d, "other", 2)
	d.Drop("stage")
	d.Drop("other")
	await.Until(t, "both uses are reported", func() bool {
		e, err := f.Explain(t.Context(), "app-1")
		return err == nil && strings.Contains(strings.Join(e.Why, " "), "for lab, ")
	})
	if err := d.Close(true); err != nil {
		t.Error(err)
	}
	jobs := map[string]api.JobUsage{}
	await.Until(t, "the application is in the history", func() bool {
		for _, j := range history(t, f, identity.Self(), api.HistoryQuery{}).Jobs {
			if j.Tasks > 0 { // the driver may have registered once more before it stopped
				jobs[j.Job] = j
			}
		}
		return len(jobs) == 2
	}, func() string { return fmt.Sprintf("%+v", jobs) })
	if j := jobs["app-1"]; j.Owner != "team" || j.App != "app-1" || j.State != api.StateCompleted || j.Attempts != 1 || j.Completed < 1 || j.SlotSeconds < 0.04 || j.Class != "short" || j.Ended <= j.Submitted {
		t.Errorf("the application: %+v", j)
	}
	if j := jobs["app-1/lab"]; j.Owner != "lab" || j.Completed < 1 || j.SlotSeconds < 0.02 || j.Class != "long" || j.Attempts != 0 {
		t.Errorf("its other owner: %+v", j)
	}
}
