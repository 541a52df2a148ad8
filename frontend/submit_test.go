package frontend_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/frontend"
	"github.com/pigeon-sched/pigeon/internal/api"
)

// Twelve submitters at once, over three groups and two frontends, lose nothing.
func TestConcurrentSubmitters(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for g := range 3 {
		w.master()
		w.node(g, 4)
	}
	fronts := []*frontOf{w.frontend(), w.frontend(func(c *frontend.Config) { c.ID = w.frontendID(1) })}
	var all sync.WaitGroup
	for s := range 12 {
		all.Go(func() {
			f := fronts[s%2]
			for j := range 20 {
				r := sleeps(fmt.Sprintf("job-%d-%d", s, j), 1+(s+j)%7, time.Duration(j%3)*time.Millisecond)
				r.Class = []string{"short", "long"}[j%2]
				if _, _, err := f.Submit(t.Context(), r); err != nil {
					t.Error(err)
					return
				}
			}
			for j := range 20 {
				id := fmt.Sprintf("job-%d-%d", s, j)
				got, err := f.Wait(t.Context(), id, 30*time.Second)
				if want := 1 + (s+j)%7; err != nil || got.State != api.StateCompleted || got.Completed != want || got.Attempts != want {
					t.Errorf("%s: %+v, %v", id, got, err)
				}
			}
		})
	}
	all.Wait()
	for _, f := range fronts {
		list, err := f.List(t.Context(), 1000, "")
		if err != nil || len(list) != 120 {
			t.Errorf("%d jobs are listed: %v", len(list), err)
		}
		if f.Repeated() != 0 {
			t.Logf("%d results came twice", f.Repeated()) // allowed: a slow machine repeats a report
		}
	}
}

// The same key is one job, from 50 callers at once, while it runs and after its
// end.
func TestSameKey(t *testing.T) {
	w := newWorld(t)
	m := w.master()
	w.node(0, 4)
	f := w.frontend()
	var mu sync.Mutex
	var all sync.WaitGroup
	fresh := 0
	for range 50 {
		all.Go(func() {
			id, duplicate, err := f.Submit(t.Context(), sleeps("key", 3, time.Millisecond))
			if err != nil || id != "key" {
				t.Errorf("%q, %v", id, err)
			}
			mu.Lock()
			defer mu.Unlock()
			if !duplicate {
				fresh++
			}
		})
	}
	all.Wait()
	w.done(f, "key")
	if _, duplicate, err := f.Submit(t.Context(), sleeps("key", 3, time.Millisecond)); err != nil || !duplicate {
		t.Errorf("a key of an ended job: duplicate %v, %v", duplicate, err)
	}
	if l := m.state(t).Launches; fresh != 1 || l != 3 {
		t.Errorf("%d of 50 submissions were new, and %d tasks were launched; want 1 and 3", fresh, l)
	}
}

// A key may be used again when its job ended longer ago than the retention.
func TestRetention(t *testing.T) {
	w := newWorld(t)
	w.master()
	w.node(0, 1)
	f := w.frontend(func(c *frontend.Config) { c.Retention = time.Nanosecond })
	w.submit(f, sleeps("key", 1, 0))
	_, err := f.Wait(t.Context(), "key", 30*time.Second)
	for {
		if _, duplicate, err := f.Submit(t.Context(), sleeps("key", 1, 0)); err != nil {
			t.Fatal(err)
		} else if !duplicate {
			break
		}
	}
	var e *api.Error
	if err != nil && (!errors.As(err, &e) || e.Problem != api.NotFound) {
		t.Error(err)
	}
}

// Every refusal has its four parts.
func TestRefusals(t *testing.T) {
	w := newWorld(t)
	w.master()
	f := w.frontend(func(c *frontend.Config) { c.MaxTasks = 10 })
	w.submit(f, sleeps("held", 8, 0)) // no node: it stays
	twice := sleeps("twice", 2, 0)
	twice.Tasks[0].ID, twice.Tasks[1].ID = "a", "a"
	for _, c := range []struct {
		name    string
		request *api.Request
		change  func(*api.Request)
		problem api.Problem
		want    string
	}{
		{"no task", sleeps("k", 0, 0), nil, api.Invalid, "no task"},
		{"an estimate below zero", sleeps("k", 1, 0), func(r *api.Request) { r.EstimateSet, r.Estimate = true, -time.Second }, api.Invalid, "-1s"},
		{"an average that is no number", sleeps("k", 1, 0), func(r *api.Request) { r.AvgMillis = math.NaN() }, api.Invalid, "NaN"},
		{"task ids twice", twice, nil, api.Invalid, `"a"`},
		{"an unknown class", sleeps("k", 1, 0), func(r *api.Request) { r.Class = "medium" }, api.Invalid, "medium"},
		{"a sleep below zero", sleeps("k", 1, -time.Second), nil, api.Invalid, "-1s"},
		{"more than the limit leaves", sleeps("k", 3, 0), nil, api.Busy, "max_tasks"},
		{"more than the limit ever", sleeps("k", 11, 0), nil, api.Invalid, "max_tasks"},
	} {
		if c.change != nil {
			c.change(c.request)
		}
		_, _, err := f.Submit(t.Context(), c.request)
		var e *api.Error
		if !errors.As(err, &e) || e.Problem != c.problem || !strings.Contains(e.Error(), c.want) || e.Subject == "" || e.Next == "" || (e.RetryAfter > 0) != (c.problem == api.Busy) {
			t.Errorf("%s: %+v", c.name, err)
		}
	}
	if list, err := f.List(t.Context(), 0, ""); err != nil || len(list) != 1 {
		t.Errorf("refused jobs are listed: %v, %v", list, err)
	}
}

// The class of a job by the rule of docs/design.md, section 3.
func TestClass(t *testing.T) {
	w := newWorld(t)
	w.master()
	for _, c := range []struct {
		app  string
		set  func(*api.Request)
		want string
	}{
		{"long", nil, "long"},
		{"short", nil, "short"},
		{"long", func(r *api.Request) { r.HT = true }, "short"},
		{"long", func(r *api.Request) { r.AvgMillis, r.HT = 1001, true }, "long"},
		{"long", func(r *api.Request) { r.AvgMillis = 1000 }, "short"},
		{"long", func(r *api.Request) { r.AvgMillis, r.Estimate, r.EstimateSet = 9999, time.Second, true }, "short"},
		{"short", func(r *api.Request) { r.Class, r.Estimate, r.EstimateSet = "long", time.Second, true }, "long"},
	} {
		f := w.frontend(func(cfg *frontend.Config) { cfg.DefaultClass, cfg.ID = c.app, "f-"+c.app })
		r := sleeps("", 1, 0)
		if c.set != nil {
			c.set(r)
		}
		s, err := f.Status(t.Context(), w.submit(f, r))
		if err != nil || s.Class != c.want {
			t.Errorf("%+v: class %s, want %s (%v)", r, s.Class, c.want, err)
		}
		f.process.Stop()
	}
}

// A submission without a key is assigned one.
func TestGeneratedKey(t *testing.T) {
	w := newWorld(t)
	w.master()
	w.node(0, 1)
	f := w.frontend()
	a, b := w.submit(f, sleeps("", 1, 0)), w.submit(f, sleeps("", 1, 0))
	if a == b || len(a) != 26 {
		t.Errorf("%q %q", a, b)
	}
	w.done(f, a)
	w.done(f, b)
}
