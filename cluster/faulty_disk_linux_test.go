package cluster_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/cluster"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/await"
	"github.com/pigeon-sched/pigeon/nodemonitor"
	"golang.org/x/sys/unix"
)

// A node whose disk does not take what tasks write takes nothing until it does: no task fails there,
// and none is tried there over and over. An operator sees why, and drains and resumes it as any other
// node.
func TestNodeOnAFaultyDisk(t *testing.T) {
	t.Parallel()
	for _, policy := range policies() {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			const node = "node-0-001"
			var folder string
			c := start(t, cluster.Spec{
				Groups: []int{3}, Slots: 2, Policy: policy, Cutoff: time.Second,
				Configure: func(config any) {
					if c, ok := config.(*nodemonitor.Config); ok && c.ID == node {
						folder = c.WorkDir
					}
				},
			})
			s := scheduler(t, c.Frontends()[0])
			awaitUse(t, s, "first", node) // some frontends place tasks before they know all nodes
			breakDisk(t, folder)
			short, long := submitProcesses(t, s, "short", "short", 24, "0.02"), submitProcesses(t, s, "long", "long", 12, "0.05")
			for _, p := range []*processes{short, long} {
				p.await()
				if n := p.at(node); n > 0 {
					t.Errorf("%d tasks began at a node that cannot write: %v", n, p.starts())
				}
			}
			shown := func() string { return fmt.Sprintf("%+v", nodeState(t, s, node)) }
			// Idle for long enough it finds the fault without a task.
			await.Until(t, "the node takes nothing", func() bool {
				n := nodeState(t, s, node)
				return n.State == api.StateDrained && strings.Contains(n.Reason, "disk") && strings.Contains(n.Reason, folder)
			}, shown)
			if _, err := s.ResumeNode(t.Context(), node); err == nil || !strings.Contains(err.Error(), "not told to drain") || !strings.Contains(err.Error(), folder) {
				t.Errorf("resumed: %v", err)
			}
			mendDisk(t, folder)
			if _, err := s.DrainNode(t.Context(), node, api.DrainOrder{}); err != nil {
				t.Fatal(err)
			}
			breakDisk(t, folder)
			await.Until(t, "its drain is what is shown", func() bool { return strings.Contains(nodeState(t, s, node).Reason, "told to drain") }, shown)
			mendDisk(t, folder)
			if _, err := s.ResumeNode(t.Context(), node); err != nil {
				t.Fatal(err)
			}
			await.Until(t, "the node has its slots again", func() bool { n := nodeState(t, s, node); return n.State == api.StateUp && n.Slots == 2 }, shown)
			awaitUse(t, s, "again", node)
		})
	}
}

// breakDisk puts a file in the place of a node's work folder, below which root cannot write either.
func breakDisk(t *testing.T, folder string) {
	t.Helper()
	if err := os.WriteFile(folder+".other", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	mendDisk(t, folder)
}

// mendDisk puts the folder back. The node makes one that is missing, even for an instant.
func mendDisk(t *testing.T, folder string) {
	t.Helper()
	if err := unix.Renameat2(unix.AT_FDCWD, folder, unix.AT_FDCWD, folder+".other", unix.RENAME_EXCHANGE); err != nil {
		t.Fatal(err)
	}
}
