package frontend_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/frontend"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/daemontest"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/server"
	"github.com/pigeon-sched/pigeon/thrift/server/servertest"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// countingGroup is what a list asks of a master: it counts the calls.
type countingGroup struct{ running, views atomic.Int64 }

func (g *countingGroup) RunningTasks(_ context.Context, jobs []sched.JobID) ([]int32, error) {
	g.running.Add(1)
	n := make([]int32, len(jobs))
	for i := range n {
		n[i] = 1
	}
	return n, nil
}

func (g *countingGroup) JobView(context.Context, sched.JobID, string) (wire.JobView, error) {
	g.views.Add(1)
	return wire.JobView{}, nil
}

func (g *countingGroup) ForgetNode(context.Context, string) (bool, error) { return false, nil }

func (g *countingGroup) GroupOwners(context.Context) (api.GroupOwners, error) {
	return api.GroupOwners{}, nil
}

func (g *countingGroup) MasterState(context.Context) (api.MasterState, error) {
	return api.MasterState{}, nil
}

// A list takes one step of the owner goroutine and one call to each master, however many
// jobs there are, and its pages together have each job once.
func TestListIsOneStepAndOneCall(t *testing.T) {
	const jobs = 5000
	w := newWorld(t)
	group := &countingGroup{}
	master := servertest.Start(t, wire.PeerProcessor(wire.PeerPorts{Group: group}, daemontest.Codec()), server.Options{MaxFrame: wire.MaxBatchBytes, Security: servertest.Anybody()})
	w.masters = []string{master.Addr().String()}
	f := w.frontend(func(c *frontend.Config) { c.NoSync = true })
	var all sync.WaitGroup
	for s := range 20 {
		all.Go(func() {
			for i := range jobs / 20 {
				if _, _, err := f.Submit(t.Context(), sleeps(fmt.Sprintf("job-%d-%d", s, i), 1, time.Second)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	posts := f.CountPosts()
	if page, err := f.List(t.Context(), 1_000_000, ""); err != nil || len(page) != wire.MaxPage {
		t.Fatalf("a page has %d jobs: %v", len(page), err)
	}
	if p, r, v := posts.Load(), group.running.Load(), group.views.Load(); p != 1 || r != 1 || v != 0 {
		t.Errorf("a page took %d posts to the owner goroutine and %d + %d calls to the master, want 1 and 1", p, r, v)
	}
	seen := map[string]bool{}
	after := ""
	for range jobs / wire.MaxPage {
		page, err := f.List(t.Context(), wire.MaxPage, after)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range page {
			if seen[s.Job] || s.Running != 1 || s.State != api.StateRunning {
				t.Fatalf("%+v, seen before: %v", s, seen[s.Job])
			}
			seen[s.Job], after = true, s.Job
		}
	}
	if rest, err := f.List(t.Context(), 10, after); err != nil || len(rest) != 0 || len(seen) != jobs {
		t.Errorf("%d jobs are in the pages and %d after them, want %d and none: %v", len(seen), len(rest), jobs, err)
	}
	if _, err := f.List(t.Context(), 10, "unknown"); err == nil || !strings.Contains(err.Error(), `"unknown"`) {
		t.Errorf("after an unknown job: %v", err)
	}
}

// A filter selects in the frontend, also where few of many jobs match, and pages go on after it.
func TestListWithAFilter(t *testing.T) {
	w := newWorld(t)
	w.master()
	w.node(0, 2)
	f := w.frontend()
	w.done(f, w.submit(f, sleeps("done-1", 1, 0)))
	hour := func(key, class, owner, name string) {
		r := sleeps(key, 1, time.Hour)
		r.Class, r.Owner, r.Name = class, owner, name
		w.submit(f, r)
	}
	hour("run-1", "short", "team/alice", "nightly-1")
	daemontest.Await(t, "it runs", func() bool { s, err := f.Status(t.Context(), "run-1"); return err == nil && s.Running == 1 })
	for i := range 30 {
		hour(fmt.Sprintf("wait-%02d", i), "long", "team/bob", "nightly-2")
	}
	var first string
	daemontest.Await(t, "one long task runs", func() bool {
		list, err := f.Query(t.Context(), 0, "", api.JobFilter{States: []string{"running"}, Class: "long"})
		if err != nil {
			t.Fatal(err)
		}
		if len(list) == 1 {
			first = list[0].Job
		}
		return len(list) == 1
	})
	for _, c := range []struct {
		name   string
		filter api.JobFilter
		want   int
	}{
		{"all", api.JobFilter{}, 32},
		{"completed", api.JobFilter{States: []string{"completed"}}, 1},
		{"running", api.JobFilter{States: []string{"running"}}, 2},
		{"queued", api.JobFilter{States: []string{"queued"}}, 29},
		{"alice's", api.JobFilter{User: "alice"}, 1},
		{"the team's", api.JobFilter{Owner: "team"}, 31},
		{"a name", api.JobFilter{Name: "nightly-*", Class: "short"}, 1},
		{"a prefix", api.JobFilter{Prefix: "wait-0"}, 10},
		{"since", api.JobFilter{Since: time.Nanosecond}, 0},
	} {
		seen, after := map[string]bool{}, ""
		for { // pages of seven
			list, err := f.Query(t.Context(), 7, after, c.filter)
			if err != nil || len(list) > 7 {
				t.Fatalf("%s: %d jobs, %v", c.name, len(list), err)
			}
			for _, s := range list {
				seen[s.Job], after = true, s.Job
			}
			if len(list) < 7 {
				break
			}
		}
		if len(seen) != c.want {
			t.Errorf("%s: %d jobs, want %d", c.name, len(seen), c.want)
		}
	}
	if list, err := f.Query(t.Context(), 1, "", api.JobFilter{Prefix: first}); err != nil || len(list) != 1 || list[0].Command != "sleep 1h0m0s" {
		t.Errorf("%+v, %v", list, err)
	}
	if _, err := f.Query(t.Context(), 1, "", api.JobFilter{States: []string{"lost"}}); err == nil || !strings.Contains(err.Error(), `"lost"`) {
		t.Errorf("%v", err)
	}
}
