package cluster_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/cluster"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/await"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// attempts submits a job of one process that waits for the file "end", and returns a
// function that awaits a number of starts of it.
func attempts(t *testing.T, s *wire.SchedulerClient) (awaitStarts func(n int), end func()) {
	t.Helper()
	dir := t.TempDir()
	script := fmt.Sprintf(`touch %s/$PIGEON_ATTEMPT.started; until test -e %s/end; do sleep 0.1; done`, dir, dir)
	_, _, err := s.Submit(t.Context(), &api.Request{Backend: api.BackendExec, Key: "job", Tasks: []api.Task{
		{Payload: api.Payload{Backend: api.BackendExec, Exec: &api.Exec{Argv: []string{"sh", "-c", script}}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	count := func() int {
		list, err := filepath.Glob(filepath.Join(dir, "*.started"))
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	status := func() string {
		got, err := s.Status(t.Context(), "job")
		return fmt.Sprintf("%+v, %v", got, err)
	}
	awaitStarts = func(n int) {
		t.Helper()
		await.Until(t, fmt.Sprintf("%d starts", n), func() bool { return count() >= n || strings.Contains(status(), "failed") }, status)
		if count() < n {
			t.Fatalf("after %d starts: %s", count(), status())
		}
	}
	return awaitStarts, func() {
		if err := os.WriteFile(filepath.Join(dir, "end"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// end waits for the job's end.
func end(t *testing.T, s *wire.SchedulerClient) api.Status {
	t.Helper()
	return endOf(t, s, "job")
}

// endOf waits for the end of the job with a key.
func endOf(t *testing.T, s *wire.SchedulerClient, key string) api.Status {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), await.Limit)
	defer cancel()
	got, err := s.Wait(ctx, key, await.Limit)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// TestPausesAreNoLosses: pauses of a node that are longer than the time after which it
// counts as lost do not fail the task that it runs, however many there are.
func TestPausesAreNoLosses(t *testing.T) {
	t.Parallel()
	c := start(t, cluster.Spec{Groups: []int{1}, Slots: 4, Isolation: cluster.Process})
	s := scheduler(t, c.Frontends()[0])
	awaitStarts, finish := attempts(t, s)
	nodes := func() int {
		groups, err := s.Nodes(t.Context())
		if err != nil || len(groups) != 1 {
			return -1
		}
		return len(groups[0].Nodes)
	}
	for pause := range 3 {
		awaitStarts(pause + 1)
		if err := c.Pause(cluster.NodeMonitor, 0); err != nil {
			t.Fatal(err)
		}
		await.Until(t, "the node is lost", func() bool { return nodes() == 0 })
		if err := c.Resume(cluster.NodeMonitor, 0); err != nil {
			t.Fatal(err)
		}
	}
	awaitStarts(4)
	finish()
	if got := end(t, s); got.State != api.StateCompleted {
		t.Errorf("%+v", got)
	}
}

// TestThreeLostNodes: a task whose node dies, three times and each time another one, fails,
// and the reason names the nodes.
func TestThreeLostNodes(t *testing.T) {
	t.Parallel()
	c := start(t, cluster.Spec{Groups: []int{3}, Slots: 1, Isolation: cluster.Process})
	s := scheduler(t, c.Frontends()[0])
	awaitStarts, _ := attempts(t, s)
	var names []string
	for loss := range 3 {
		awaitStarts(loss + 1)
		var at string
		await.Until(t, "the task is at a node", func() bool {
			e, err := s.Explain(t.Context(), "job")
			if err != nil {
				return false
			}
			i := slices.IndexFunc(e.Tasks, func(s api.TaskStatus) bool { return s.State == "running" && s.Attempt == loss+1 })
			if i < 0 {
				return false
			}
			at, _, _ = strings.Cut(e.Tasks[i].Node, "/")
			return at != ""
		}, func() string { e, err := s.Explain(t.Context(), "job"); return fmt.Sprintf("%+v, %v", e, err) })
		for i := range 3 {
			if strings.HasSuffix(at, fmt.Sprint(i)) {
				if err := c.Kill(cluster.NodeMonitor, i); err != nil {
					t.Fatal(err)
				}
			}
		}
		names = append(names, at)
	}
	got := end(t, s)
	if want := fmt.Sprintf("was lost with 3 nodes within 600 s, %s, %s and %s", names[0], names[1], names[2]); got.State != api.StateFailed || !strings.Contains(got.Reason, want) {
		t.Errorf("%+v, want the reason %q", got, want)
	}
}
