package cluster_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/cluster"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/await"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

const restartedTasks = 20

// submitRestarted submits a job whose processes note their starts in a folder and wait for the
// file "end", and waits until all have started.
func submitRestarted(t *testing.T, s *wire.SchedulerClient, dir string) {
	t.Helper()
	script := fmt.Sprintf(`echo $PIGEON_ATTEMPT $$ >> %s/$PIGEON_TASK.started; until test -e %s/end; do sleep 0.1; done`, dir, dir)
	r := &api.Request{Backend: api.BackendExec, Key: "job"}
	for range restartedTasks {
		r.Tasks = append(r.Tasks, api.Task{Payload: api.Payload{Backend: api.BackendExec, Exec: &api.Exec{Argv: []string{"sh", "-c", script}}}})
	}
	if _, _, err := s.Submit(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	await.Until(t, "all tasks have started", func() bool { return len(starts(t, dir)) == restartedTasks })
}

// starts returns, for each task that has started, the attempts and pids that it noted.
func starts(t *testing.T, dir string) (list []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.started"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if text, err := os.ReadFile(f); err == nil && len(text) > 0 {
			list = append(list, string(text))
		}
	}
	return list
}

// startedAgain starts a node monitor again that is about to end, and waits until it is
// registered.
func startedAgain(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	await.Until(t, "the node monitor can be started again", func() bool { return c.Restart(cluster.NodeMonitor, 0) == nil })
	await.Until(t, "the node is registered", func() bool {
		r, err := http.Get("http://" + c.HTTP(cluster.NodeMonitor, 0) + "/readyz")
		if err != nil {
			return false
		}
		defer r.Body.Close()
		defer http.DefaultClient.CloseIdleConnections()
		return r.StatusCode == http.StatusOK
	})
}

// TestRestartsCostNothing: a node monitor that hands over, or is killed, three times while it
// runs twenty processes loses none of them and starts none again. Sleep tasks continue where
// it hands over.
func TestRestartsCostNothing(t *testing.T) {
	t.Parallel()
	for _, handsOver := range []bool{true, false} {
		t.Run(fmt.Sprintf("hands over: %v", handsOver), func(t *testing.T) {
			c := start(t, cluster.Spec{Groups: []int{1}, Slots: restartedTasks + 2, Isolation: cluster.Process, HTTP: true, RestartGrace: time.Minute})
			s, dir := scheduler(t, c.Frontends()[0]), t.TempDir()
			submitRestarted(t, s, dir)
			if handsOver {
				sleeps := &api.Request{Backend: api.BackendSleep, Key: "sleeps", Tasks: []api.Task{{Payload: api.Payload{Sleep: 3 * time.Second}}, {Payload: api.Payload{Sleep: time.Millisecond}}}}
				if _, _, err := s.Submit(t.Context(), sleeps); err != nil {
					t.Fatal(err)
				}
			}
			for range 3 {
				if handsOver {
					if err := c.HandOver(0); err != nil {
						t.Fatal(err)
					}
				} else if err := c.Kill(cluster.NodeMonitor, 0); err != nil {
					t.Fatal(err)
				}
				startedAgain(t, c)
			}
			e, err := s.Explain(t.Context(), "job")
			if err != nil || len(e.Tasks) == 0 {
				t.Fatalf("%+v, %v", e, err)
			}
			for _, task := range e.Tasks {
				if task.Attempt != 1 {
					t.Errorf("%+v", task)
				}
			}
			if err := os.WriteFile(filepath.Join(dir, "end"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if got := end(t, s); got.State != api.StateCompleted {
				t.Errorf("%+v", got)
			}
			for _, text := range starts(t, dir) {
				if strings.Count(text, "\n") != 1 || !strings.HasPrefix(text, "1 ") {
					t.Errorf("a task was started as %q", text)
				}
			}
			if handsOver {
				if got, err := s.Wait(t.Context(), "sleeps", await.Limit); err != nil || got.State != api.StateCompleted {
					t.Errorf("%+v, %v", got, err)
				}
			}
		})
	}
}

// TestKilledForGood: a node monitor that was killed and does not come back takes its processes
// with it when restart_grace is over.
func TestKilledForGood(t *testing.T) {
	t.Parallel()
	c := start(t, cluster.Spec{Groups: []int{1}, Slots: restartedTasks, Isolation: cluster.Process, RestartGrace: 500 * time.Millisecond})
	s, dir := scheduler(t, c.Frontends()[0]), t.TempDir()
	submitRestarted(t, s, dir)
	if err := c.Kill(cluster.NodeMonitor, 0); err != nil {
		t.Fatal(err)
	}
	for _, text := range starts(t, dir) {
		var attempt, pid int
		if _, err := fmt.Sscan(text, &attempt, &pid); err != nil {
			t.Fatal(err)
		}
		await.Until(t, fmt.Sprintf("process %d is gone", pid), func() bool {
			_, err := os.Stat(fmt.Sprintf("/proc/%d", pid))
			return os.IsNotExist(err)
		})
	}
}
