package frontend_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/frontend"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/daemontest"
	"github.com/pigeon-sched/pigeon/internal/owners"
)

// owned is a job of sleeping tasks of an owner.
func owned(owner, key string, tasks int, d time.Duration) *api.Request {
	r := sleeps(key, tasks, d)
	r.Owner = owner
	return r
}

// A team's quota bounds its members together. The refusal names the quota, its owner, how
// much is used and its holders; others are not refused; jobs that have ended make room;
// restored jobs count.
func TestQuotaOfATeam(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.master()
	f := w.frontend(func(c *frontend.Config) { c.Quotas.Quotas = []owners.Quota{{Owner: "team", Tasks: 10}} })
	w.submit(f, owned("team/alice", "a", 6, 0))
	w.submit(f, owned("team/bob", "b", 4, 0))
	full := func(when string) {
		t.Helper()
		_, _, err := f.Submit(t.Context(), owned("team/carol", "c", 2, 0))
		if e := refusal(t, err); e.Problem != api.Busy || e.RetryAfter == 0 || !strings.Contains(e.Subject, `"c"`) || e.Next == "" ||
			!strings.Contains(e.What, `its 2 tasks would pass the quota of owner "team", 10 tasks (quotas), of which 10 are used: 6 by owner "team/alice", 4 by owner "team/bob"`) {
			t.Errorf("%s: %v", when, err)
		}
	}
	full("at the quota")
	_, _, err := f.Submit(t.Context(), owned("team/carol", "never", 11, 0))
	if e := refusal(t, err); e.Problem != api.Invalid || e.RetryAfter != 0 || !strings.Contains(e.What, `the quota of owner "team"`) {
		t.Errorf("above the whole quota: %v", err)
	}
	if n, ok := f.Metric(t, "pigeon_frontend_jobs_refused_total", "quota"); !ok || n != 2 {
		t.Errorf("%v submissions are counted as refused for a quota, want 2", n)
	}
	w.submit(f, owned("teams", "others", 100, 0))
	f = w.restartFrontend(f)
	full("after a restart")
	if _, err := f.Cancel(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	w.submit(f, owned("team/carol", "c", 6, 0))
	w.node(0, 8)
	for _, key := range []string{"b", "c", "others"} {
		w.done(f, key)
	}
	s, err := f.Shares(t.Context())
	if want := (api.QuotaState{Owner: "team", MaxTasks: 10}); err != nil || len(s.Quotas.Quotas) != 1 || s.Quotas.Quotas[0] != want {
		t.Errorf("%+v, %v", s.Quotas, err)
	}
	w.submit(f, owned("team/alice", "again", 10, 0))
}

// Tasks that have ended make room while their job continues.
func TestQuotaFollowsTasks(t *testing.T) {
	w := newWorld(t)
	w.master()
	w.node(0, 4)
	f := w.frontend(func(c *frontend.Config) { c.DefaultTasks = 5 })
	r := owned("alice", "a", 4, 0)
	r.Tasks[0].Payload.Sleep = time.Hour
	w.submit(f, r)
	daemontest.Await(t, "three tasks have ended", func() bool { s, err := f.Status(t.Context(), "a"); return err == nil && s.Completed == 3 })
	w.submit(f, owned("alice", "b", 4, time.Hour))
	_, _, err := f.Submit(t.Context(), owned("alice", "c", 1, 0))
	if e := refusal(t, err); !strings.Contains(e.What, `the quota of owner "alice", 5 tasks (default_tasks), of which 5 are used`) {
		t.Error(err)
	}
	for _, key := range []string{"a", "b"} {
		if _, err := f.Cancel(t.Context(), key); err != nil {
			t.Fatal(err)
		}
	}
}

// Quotas are read again from the file of owners. When it has a mistake, the previous ones
// stay in effect, and the mistake is shown until the file is read without one.
func TestQuotasAreReadAgain(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "owners.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".new", path); err != nil { // so that half of it is never read
			t.Fatal(err)
		}
	}
	write("quotas: [{owner: team, tasks: 3}]")
	w := newWorld(t)
	w.master()
	f := w.frontend(func(c *frontend.Config) { c.OwnersFile = path })
	quotas := func() api.OwnerQuotas {
		s, err := f.Shares(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return s.Quotas
	}
	show := func() string { return fmt.Sprintf("%+v", quotas()) }
	if q := quotas(); len(q.Quotas) != 1 || q.Quotas[0].MaxTasks != 3 || q.Problem != "" {
		t.Errorf("%+v", q)
	}
	write("quotas: [{owner: team, taks: 5}]")
	if !f.Reload() {
		t.Error("there is no file to read")
	}
	daemontest.Await(t, "the mistake is shown", func() bool {
		q := quotas()
		return strings.Contains(q.Problem, `"taks"`) && strings.Contains(q.Problem, `"tasks"`) && q.ProblemSince > 0 && q.Quotas[0].MaxTasks == 3
	})
	write("quotas: [{owner: team, tasks: 5}]")
	daemontest.Await(t, "the change is noticed: "+show(), func() bool { q := quotas(); return q.Problem == "" && q.Quotas[0].MaxTasks == 5 })
	w.submit(f, owned("team", "five", 5, 0))
}
