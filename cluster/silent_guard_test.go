package cluster_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/pigeon-sched/pigeon/cluster"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/await"
)

// A node whose guard is stopped is not up until the guard goes on, and says why. What runs there goes on.
func TestNodeWhoseGuardIsStopped(t *testing.T) {
	t.Parallel()
	c := start(t, cluster.Spec{Groups: []int{1}, Slots: 2})
	s := scheduler(t, c.Frontends()[0])
	file := filepath.Join(t.TempDir(), "guard")
	task := api.Task{Payload: api.Payload{Backend: api.BackendExec, Exec: &api.Exec{Argv: []string{"sh", "-c", "echo $PPID > " + file + "; sleep 1000"}}}}
	if _, _, err := s.Submit(t.Context(), &api.Request{Backend: api.BackendExec, Key: "it", Class: "short", Tasks: []api.Task{task}}); err != nil {
		t.Fatal(err)
	}
	var guard int
	await.Until(t, "the task runs", func() bool {
		text, err := os.ReadFile(file)
		if err != nil {
			return false
		}
		n, _ := fmt.Sscan(string(text), &guard)
		return n == 1
	})
	signal := func(s syscall.Signal) {
		if err := syscall.Kill(guard, s); err != nil {
			t.Error(err)
		}
	}
	signal(syscall.SIGSTOP)
	defer signal(syscall.SIGCONT)
	node := func() api.Node { return nodeState(t, s, "node-0-000") }
	shown := func() string { return fmt.Sprintf("%+v", node()) }
	await.Until(t, "the node is not up", func() bool {
		n := node()
		return n.State != api.StateUp && strings.Contains(n.Reason, "does not answer")
	}, shown)
	signal(syscall.SIGCONT)
	await.Until(t, "the node is up", func() bool { n := node(); return n.State == api.StateUp && n.Slots == 2 }, shown)
}
