package frontend_test

import (
	"strings"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/client"
	"github.com/pigeon-sched/pigeon/frontend"
	"github.com/pigeon-sched/pigeon/internal/api"
)

// A key is the same job at every frontend whose journal is replicated: another one names the
// frontend that has it, wherever that name is served, and a client follows. A key leads to its home
// also while nobody serves that.
func TestKeysAreTheClusters(t *testing.T) {
	t.Parallel()
	w := newShared(t)
	w.master()
	w.node(0, 4)
	f := w.leads(w.begin(func(c *frontend.Config) { c.MaxTasks = 4 }))
	g := w.leads(w.begin(func(c *frontend.Config) { c.ID = "g" }))
	w.submit(f, sleeps("mine", 1, 0))
	elsewhere := func(err error, at *frontOf) {
		t.Helper()
		if e := refusal(t, err); e.Problem != api.NotReady || e.Address != at.Addr() || !strings.Contains(e.What, at.cfg.ID) {
			t.Errorf("%v, at %q", e, e.Address)
		}
	}
	_, _, err := g.Submit(t.Context(), sleeps("mine", 1, 0))
	elsewhere(err, f)
	_, err = g.Status(t.Context(), "mine")
	elsewhere(err, f)
	_, err = g.Wait(t.Context(), "mine", time.Second)
	elsewhere(err, f)
	_, err = g.Cancel(t.Context(), "mine")
	elsewhere(err, f)

	c, err := client.New(client.Options{Addresses: []string{g.Addr()}, Timeout: 10 * time.Second, Retry: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}()
	j, duplicate, err := c.Submit(t.Context(), sleeps("mine", 1, 0))
	if err != nil || !duplicate || j.Frontend().Address != f.Addr() {
		t.Fatalf("%+v, duplicate %v, %v", j, duplicate, err)
	}

	// A key that its client has made is used at one frontend only, and costs no look-up.
	made := sleeps("made", 1, 0)
	made.Frontend = "f"
	w.submit(f, made)
	_, err = g.Status(t.Context(), "made")
	if e := refusal(t, err); e.Problem != api.NotFound || e.Address != "" {
		t.Errorf("%v, at %q", e, e.Address)
	}

	// f refuses the job: no frontend has it.
	if _, _, err := f.Submit(t.Context(), sleeps("large", 5, 0)); refusal(t, err).Problem != api.Invalid {
		t.Errorf("more than max_tasks: %v", err)
	}
	w.submit(g, sleeps("large", 5, 0))
	_, _, err = f.Submit(t.Context(), sleeps("large", 5, 0))
	elsewhere(err, g)
	for name, change := range map[string]func(*api.Request){
		"too large": func(r *api.Request) { r.Tasks = sleeps("", 5, 0).Tasks },
		"too early": func(r *api.Request) { r.After = []api.After{{Job: "unknown"}} },
	} {
		r := sleeps(name, 1, 0)
		change(r)
		if _, _, err := f.Submit(t.Context(), r); refusal(t, err).Problem != api.Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}

	// The standby of f has its keys.
	second := w.begin()
	w.standsBy(second, f)
	f.process.Stop()
	w.leads(second)
	_, _, err = g.Submit(t.Context(), sleeps("mine", 1, 0))
	elsewhere(err, second)
	if j, _, err = c.Find(t.Context(), "mine"); err != nil || j.Frontend().Address != second.Addr() {
		t.Errorf("%+v, %v", j, err)
	}

	// No process has the name of f: whether it has the job is not known.
	second.process.Stop()
	_, _, err = g.Submit(t.Context(), sleeps("mine", 1, 0))
	if e := refusal(t, err); e.Problem != api.NotReady || !strings.Contains(e.What, `"f"`) {
		t.Errorf("its home is gone: %v", e)
	}
	for _, name := range []string{"new", "too large", "too early"} { // a refused job has left no key
		w.submit(g, sleeps(name, 1, 0))
	}
}
