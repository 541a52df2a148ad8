package frontend_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/frontend/journal"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/apptest"
	"github.com/pigeon-sched/pigeon/internal/daemontest"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/master"
	"github.com/pigeon-sched/pigeon/thrift/client"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// awaitOwners waits until the nodes of a master report tasks of exactly these owners.
func awaitOwners(t *testing.T, m *masterOf, want ...string) {
	t.Helper()
	var got []string
	defer func() {
		if t.Failed() {
			t.Logf("the owners at the nodes are %q", got)
		}
	}()
	daemontest.Await(t, "the owners at the nodes", func() bool {
		got = nil
		for _, n := range m.state(t).Nodes {
			got = append(got, n.Owners...)
		}
		slices.Sort(got)
		got = slices.Compact(got)
		return slices.Equal(got, want)
	})
}

// The owner of a job is known after a restart of its frontend, which journaled it, and of
// its master, to which the nodes report it.
func TestOwnersSurviveRestarts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := w.master()
	w.node(0, 2)
	f := w.frontend()
	said := sleeps("said", 1, time.Hour)
	said.Owner, said.Priority, said.Name = "team/alice", 7, "nightly"
	derived := sleeps("derived", 1, time.Hour)
	derived.User, derived.UserGroup, derived.Priority = "bob", "team", -7
	w.submit(f, said)
	w.submit(f, derived)
	check := func() {
		t.Helper()
		awaitOwners(t, m, "team/alice", "team/bob")
		for _, want := range []api.Status{{Job: "said", Owner: "team/alice", Priority: 7, Name: "nightly"}, {Job: "derived", Owner: "team/bob", Priority: -7}} {
			s, err := f.Status(t.Context(), want.Job)
			if err != nil || s.Owner != want.Owner || s.Priority != want.Priority || want.Name != "" && s.Name != want.Name {
				t.Errorf("%+v, %v; want %+v", s, err, want)
			}
		}
	}
	check()
	f = w.restartFrontend(f)
	check()
	m = w.restart(m)
	check()
	e, err := f.Explain(t.Context(), "derived")
	if err != nil || !strings.Contains(strings.Join(e.Why, " "), "It runs for team/bob, with priority -7") {
		t.Errorf("%+v, %v", e, err)
	}
	for _, job := range []string{"said", "derived"} {
		if _, err := f.Cancel(t.Context(), job); err != nil {
			t.Error(err)
		}
	}
	f = w.restartFrontend(f)
	if s, err := f.Status(t.Context(), "said"); err != nil || s.State != api.StateCancelled || s.Owner != "team/alice" || s.Priority != 7 || s.Name != "nightly" {
		t.Errorf("an ended job after a restart: %+v, %v", s, err)
	}
}

// A master's metrics name the owners of the tasks that run and wait there, and what they
// used.
func TestMetricsOfOwners(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := w.master(func(c *master.Config) { c.HTTP = "127.0.0.1:0" })
	w.node(0, 1)
	f := w.frontend()
	page := ""
	defer func() {
		if t.Failed() {
			t.Log(page)
		}
	}()
	has := func(series string) func() bool {
		return func() bool {
			_, page = get(t, "http://"+m.HTTP()+"/metrics")
			return strings.Contains(page, series)
		}
	}
	folder := t.TempDir()
	first := script("first", "while ! [ -e $1/gate ]; do sleep 0.01; done", folder)
	first.Owner = "team/alice"
	second := sleeps("second", 3, time.Hour)
	second.Owner = "team/alice"
	w.submit(f, first)
	daemontest.Await(t, "the owner of what runs", has(`pigeon_master_owner_running_tasks{class="short",owner="team/alice"} 1`))
	w.submit(f, second)
	daemontest.Await(t, "the owner of what waits", has(`pigeon_master_owner_queued_tasks{class="short",owner="team/alice"} 3`))
	if err := os.WriteFile(filepath.Join(folder, "gate"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	w.done(f, "first")
	daemontest.Await(t, "what it used", func() bool {
		_, page = get(t, "http://"+m.HTTP()+"/metrics")
		_, after, found := strings.Cut(page, `pigeon_master_owner_slot_seconds_total{class="short",owner="team/alice"} `)
		text, _, _ := strings.Cut(after, "\n")
		seconds, err := strconv.ParseFloat(text, 64)
		return found && err == nil && seconds > 0
	})
}

// Owner and priority reach masters with the tasks, also under policies that know none and
// after a restart of the frontend.
func TestOwnersReachMasters(t *testing.T) {
	t.Parallel()
	for _, spec := range []string{"fifo", "priority", "kairos"} {
		t.Run(spec, func(t *testing.T) {
			k := newPublisher(t)
			f := k.frontend(spec)
			w := &world{t: t}
			job := sleeps("job", 3, time.Hour)
			job.UserGroup, job.User, job.Priority, job.Class = "team", "alice", 9, "long"
			w.submit(f, job)
			check := func() {
				t.Helper()
				if m := k.awaitGot(sched.Tasks, 1)[0].Msg; m.Owner != "team/alice" || m.Priority != 9 {
					t.Errorf("the master received %s", sched.Describe(&m))
				}
			}
			check()
			w.restartFrontend(f)
			k.restart()
			check()
		})
	}
}

// A job that a program without owners journaled belongs to its user, and the same request
// again is the same job.
func TestJournalWithoutOwners(t *testing.T) {
	w := newWorld(t)
	w.master()
	cfg := w.settings()
	old := sleeps("old", 1, time.Hour)
	old.User, old.Tasks[0].ID = "ann", "0"
	j, rep, err := journal.Open(cfg.Data, journal.Options{Frontend: cfg.ID}, func(*journal.Job) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	written := make(chan error, 1)
	sub := &journal.Submission{Job: sched.NewJobID(rep.Scope, "old"), Submitted: time.Now().UnixNano(), Request: *old, Fingerprint: old.Fingerprint()}
	if err := j.Append([]journal.Record{{Kind: journal.Accepted, Job: sub.Job, Submission: sub}}, func(err error) { written <- err }); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(<-written, j.Close()); err != nil {
		t.Fatal(err)
	}
	f := w.runFrontend(cfg)
	if s, err := f.Status(t.Context(), "old"); err != nil || s.Owner != "ann" {
		t.Errorf("%+v, %v", s, err)
	}
	again := sleeps("old", 1, time.Hour)
	again.User = "ann"
	if _, duplicate, err := f.Submit(t.Context(), again); err != nil || !duplicate {
		t.Errorf("the same request again: duplicate %t, %v", duplicate, err)
	}
	again.Owner = "bob"
	if _, _, err := f.Submit(t.Context(), again); err == nil || !strings.Contains(err.Error(), `its owner is "bob" instead of "ann"`) {
		t.Errorf("for another owner: %v", err)
	}
}

// Grants belong to the owner of their level, else of the application, else to its user.
func TestOwnersOfGrants(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ user, owner, want string }{{"ann", "", "ann"}, {"ann", "team/app", "team/app"}} {
		t.Run(c.want, func(t *testing.T) {
			w := newWorld(t)
			m := w.master()
			w.node(0, 2, small(100))
			f := w.frontend()
			d := w.driver(apptest.Spec{ID: "app-1", Frontends: []string{f.Addr()}, Executors: 1, Slots: 2, Memory: 60, User: c.user, Owner: c.owner})
			awaitRunning(t, d, 1)
			d.Add("common", "short", 1, time.Hour)
			d.AddLevel(api.Level{Name: "special", Class: "short", Owner: "team/bob", Priority: 3}, 1, time.Hour)
			awaitOwners(t, m, slices.Sorted(slices.Values([]string{c.want, "team/bob"}))...)
			e, err := f.Explain(t.Context(), "app-1")
			if err != nil || e.Status.Owner != c.want {
				t.Fatalf("%+v, %v", e, err)
			}
			if why := strings.Join(e.Why, " "); !strings.Contains(why, "running for "+c.want+",") || !strings.Contains(why, "special is short for team/bob with priority 3:") {
				t.Errorf("explain: %s", why)
			}
		})
	}
}

// An application, or a level of it, with an owner that cannot be is refused at its
// registration, with the rule, and harms no other.
func TestOddOwnersOfApplications(t *testing.T) {
	w := newWorld(t)
	w.master()
	f := w.frontend()
	pool, err := client.New(client.Options{Name: "frontend", Address: f.Addr(), FailFast: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = pool.Close() }() // it has no error
	c := wire.NewApplicationClient(pool)
	app := func(owner string) *api.Application {
		return &api.Application{ID: "app-1", Incarnation: 1, User: "odd//user\xff", Owner: owner, Grants: true, Template: api.Template{Argv: []string{"p"}, Memory: 1}}
	}
	wants := func(owner string) *api.Wants {
		return &api.Wants{Application: "app-1", Incarnation: 1, Sequence: 1, Levels: []api.Level{{Name: "l", Total: 1, Owner: owner}}}
	}
	if _, err := c.RegisterApplication(t.Context(), app("")); err != nil {
		t.Fatalf("an odd user: %v", err)
	}
	if v := f.Applications().Views(); len(v) != 1 || v[0].Owner != "odd__user_" {
		t.Errorf("%+v", v)
	}
	for owner, rule := range map[string]string{
		"team//alice": "level 2 is empty", strings.Repeat("a/", 999) + "a": "1999 bytes, more than the limit of 255",
		strings.Repeat("a", 1<<20): "1048576 bytes, more than the limit of 255", "\xff": "not valid UTF-8", "a\x00": "a control character",
	} {
		_, registering := c.RegisterApplication(t.Context(), app(owner))
		_, wanting := c.Want(t.Context(), wants(owner))
		for _, err := range []error{registering, wanting} {
			e, ok := errors.AsType[*api.Error](err)
			if !ok || e.Problem != api.Invalid || !strings.Contains(e.What, rule) || e.Tried == "" || e.Next == "" || !strings.Contains(e.Subject, "app-1") || len(e.Error()) > 1000 {
				t.Errorf("owner %.40q: %.500v", owner, err)
			}
		}
	}
	if _, err := c.Want(t.Context(), wants("team/alice")); err != nil {
		t.Error(err)
	}
	if v := f.Applications().Views(); len(v) != 1 || len(v[0].Levels) != 1 || v[0].Levels[0].Owner != "team/alice" {
		t.Errorf("%+v", v)
	}
}
