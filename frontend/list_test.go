package frontend_test

import (
	"context"
	"fmt"
	"slices"
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

// countingGroup stands in for a master that a list asks, and counts the calls.
type countingGroup struct {
	running, views, jobs atomic.Int64

	mu     sync.Mutex
	runs   []sched.JobID // the jobs that have a running task; nil: all
	more   bool          // whether its answer reports that there are more
	refuse error         // or its answer

	viewed func()           // called before a job is shown; nil: nothing happens then
	tasks  []api.TaskStatus // of each job that is shown
}

func (g *countingGroup) answer(runs []sched.JobID, more bool, refuse error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.runs, g.more, g.refuse = runs, more, refuse
}

func (g *countingGroup) RunningTasks(_ context.Context, jobs []sched.JobID) ([]int32, error) {
	g.running.Add(1)
	g.mu.Lock()
	defer g.mu.Unlock()
	n := make([]int32, len(jobs))
	for i := range n {
		if g.runs == nil || slices.Contains(g.runs, jobs[i]) {
			n[i] = 1
		}
	}
	return n, nil
}

func (g *countingGroup) RunningJobs(context.Context, string) (wire.RunningJobs, error) {
	g.jobs.Add(1)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.more {
		return wire.RunningJobs{Jobs: g.runs[:1], More: true}, nil
	}
	return wire.RunningJobs{Jobs: g.runs}, g.refuse
}

func (g *countingGroup) JobView(context.Context, sched.JobID, string) (wire.JobView, error) {
	g.views.Add(1)
	if g.viewed != nil {
		g.viewed()
	}
	return wire.JobView{Tasks: g.tasks}, nil
}

func (g *countingGroup) RunningAttempts(context.Context, sched.JobID, int32) ([]api.TaskStatus, error) {
	return nil, nil
}

func (g *countingGroup) ForgetNode(context.Context, string) (bool, error) { return false, nil }

func (g *countingGroup) GroupOwners(context.Context) (api.GroupOwners, error) {
	return api.GroupOwners{}, nil
}

func (g *countingGroup) MasterState(context.Context) (api.MasterState, error) {
	return api.MasterState{}, nil
}

// withCountingGroup starts a frontend whose only master is a countingGroup.
func withCountingGroup(t *testing.T, change ...func(*frontend.Config)) (*countingGroup, *frontOf) {
	t.Helper()
	w, group := newWorld(t), &countingGroup{}
	master := servertest.Start(t, wire.PeerProcessor(wire.PeerPorts{Group: group}, daemontest.Codec()), server.Options{MaxFrame: wire.MaxBatchBytes, Security: servertest.Anybody()})
	w.masters = []string{master.Addr().String()}
	return group, w.frontend(append(change, func(c *frontend.Config) { c.NoSync = true })...)
}

// A list takes one step of the owner goroutine and one call to each master, however many
// jobs there are, and its pages together have each job once.
func TestListIsOneStepAndOneCall(t *testing.T) {
	t.Parallel()
	const jobs = 5000
	group, f := withCountingGroup(t)
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

// A list goes on after a job that has left memory since: on a busy frontend the oldest jobs leave it
// while they are listed.
func TestListAfterAJobThatLeftMemory(t *testing.T) {
	t.Parallel()
	_, f := withCountingGroup(t)
	for _, name := range []string{"oldest", "left", "newest"} {
		if _, _, err := f.Submit(t.Context(), sleeps(name, 1, time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := f.Cancel(t.Context(), "left"); err != nil {
		t.Fatal(err)
	}
	f.LeaveMemory("left")
	for _, filter := range []api.JobFilter{{}, {Since: time.Hour}} {
		page, err := f.Query(t.Context(), 10, "left", filter)
		if err != nil || len(page) != 1 || page[0].Job != "oldest" {
			t.Errorf("%+v: %+v, %v", filter, page, err)
		}
	}
}

// A list of running jobs takes one step of the owner goroutine and two calls to each master,
// however many jobs wait. Where a master cannot tell which jobs run, it is asked about all of
// them, and the list is the same.
func TestListOfRunningJobs(t *testing.T) {
	t.Parallel()
	const waiting = 2 * wire.MaxPage
	group, f := withCountingGroup(t, func(c *frontend.Config) { c.ID = "f1" })
	var runs []sched.JobID
	for i := range waiting + 2 {
		name := fmt.Sprintf("job-%d", i)
		if i == 0 || i == waiting {
			name = fmt.Sprintf("run-%d", i)
			runs = append(runs, f.JobID(name))
		}
		if _, _, err := f.Submit(t.Context(), sleeps(name, 1, time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	posts := f.CountPosts()
	for _, c := range []struct {
		name   string
		more   bool
		refuse error
		calls  int64 // for the running tasks of jobs
		posts  int64
	}{
		{"it says which run", false, nil, 1, 1},
		{"more run than it may list", true, nil, 3, 3},
		{"it does not know the question", false, &api.Error{Problem: api.Invalid, What: "the other side does not offer this method"}, 3, 3},
		{"it serves the question to nobody", false, &api.Error{Problem: api.Denied, What: "the method is not served to anybody here"}, 3, 3},
	} {
		group.answer(runs, c.more, c.refuse)
		asked, calls, before := group.jobs.Load(), group.running.Load(), posts.Load()
		list, err := f.Query(t.Context(), 10, "", api.JobFilter{States: []string{"running"}})
		if err != nil || len(list) != 2 || list[0].Job != fmt.Sprintf("run-%d", waiting) || list[1].Job != "run-0" || list[0].State != api.StateRunning || list[0].Running != 1 {
			t.Errorf("%s: %+v, %v", c.name, list, err)
		}
		if j, r, p := group.jobs.Load()-asked, group.running.Load()-calls, posts.Load()-before; j != 1 || r != c.calls || p != c.posts {
			t.Errorf("%s: %d calls for the jobs, %d for their tasks and %d posts, want 1, %d and %d", c.name, j, r, p, c.calls, c.posts)
		}
		queued, err := f.Query(t.Context(), wire.MaxPage, "", api.JobFilter{States: []string{"queued"}})
		if err != nil || len(queued) != wire.MaxPage || slices.ContainsFunc(queued, func(s api.Status) bool { return s.Job[:3] == "run" }) {
			t.Errorf("%s: %d queued jobs, %v", c.name, len(queued), err)
		}
	}
}

// A filter selects in the frontend, also where few of many jobs match, and pages continue after
// it.
func TestListWithAFilter(t *testing.T) {
	t.Parallel()
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
