package cluster_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/pigeon-sched/pigeon/cluster"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/await"
	"github.com/pigeon-sched/pigeon/nodemonitor"
)

// A node whose disk hangs holds at most what has begun there: everything else runs elsewhere meanwhile,
// nothing begins twice, and the node takes tasks again when the disk answers.
func TestNodeOnADiskThatHangs(t *testing.T) {
	t.Parallel()
	const node, slots = "node-0-000", 2
	d := mountDisk(t)
	c := start(t, cluster.Spec{
		Groups: []int{2}, Slots: slots, Isolation: cluster.Process, // a guard for each
		Configure: func(config any) {
			if c, ok := config.(*nodemonitor.Config); ok && c.ID == node {
				c.WorkDir = d.folder
			}
		},
	})
	s := scheduler(t, c.Frontends()[0])
	awaitUse(t, s, "first", node)
	const tasks = 200
	p := submitProcesses(t, s, "job", "short", tasks, "0.05")
	await.Until(t, "the job runs there", func() bool { return p.at(node) > 0 }, func() string { return fmt.Sprint(p.starts()) })
	d.run(t, "fsfreeze", "-f")
	thaw := sync.OnceFunc(func() { d.run(t, "fsfreeze", "-u") })
	defer thaw() // a frozen disk would keep the test from ending
	ended := func() int {
		got, err := s.Status(t.Context(), p.key)
		if err != nil {
			t.Fatal(err)
		}
		return got.Completed
	}
	shown := func() string { return fmt.Sprintf("%+v; %d tasks ended", nodeState(t, s, node), ended()) }
	await.Until(t, "the node takes nothing", func() bool {
		n := nodeState(t, s, node)
		return n.State != api.StateUp && strings.Contains(n.Reason, "not answered")
	}, shown)
	await.Until(t, "what has not begun there ends elsewhere", func() bool { return ended() >= tasks-slots }, shown)
	thaw()
	awaitState(t, s, node, api.StateUp)
	p.await()
	awaitUse(t, s, "again", node)
}

// A node whose disk hangs just when folders of jobs are made there is not lost: it answers, gives back what
// it has not begun, and a task that is cancelled ends at once. Nothing begins there afterwards.
func TestFoldersOnADiskThatHangs(t *testing.T) {
	t.Parallel()
	const node = "node-0-000"
	d := mountDisk(t)
	c := start(t, cluster.Spec{
		Groups: []int{2}, Slots: 2, Isolation: cluster.Process, // a guard for each
		Configure: func(config any) {
			if c, ok := config.(*nodemonitor.Config); ok && c.ID == node {
				c.WorkDir = d.folder
			}
		},
	})
	s := scheduler(t, c.Frontends()[0])
	awaitUse(t, s, "first", node)
	d.run(t, "fsfreeze", "-f")
	thaw := sync.OnceFunc(func() { d.run(t, "fsfreeze", "-u") })
	defer thaw()                                                    // a frozen disk would keep the test from ending
	cancelled := submitProcesses(t, s, "cancelled", "short", 4, "") // on all slots
	await.Until(t, "two run elsewhere", func() bool { return len(cancelled.starts()) == 2 }, func() string { return fmt.Sprint(cancelled.starts()) })
	if _, err := s.Cancel(t.Context(), cancelled.key); err != nil {
		t.Fatal(err)
	}
	p := submitProcesses(t, s, "job", "short", 20, "0.05")
	await.Until(t, "the node takes nothing, and what was launched there ends elsewhere", func() bool {
		n := nodeState(t, s, node)
		if n.State == api.StateLost {
			t.Fatalf("the node is lost: %+v", n)
		}
		got, err := s.Status(t.Context(), p.key)
		if err != nil {
			t.Fatal(err)
		}
		return n.State != api.StateUp && strings.Contains(n.Reason, "not answered") && got.Completed == p.n
	}, func() string { return fmt.Sprintf("%+v", nodeState(t, s, node)) })
	if n := cancelled.at(node) + p.at(node); n > 0 {
		t.Errorf("%d tasks began on a disk that hangs", n)
	}
	thaw()
	awaitState(t, s, node, api.StateUp)
	p.await()
	awaitUse(t, s, "again", node)
	if n := cancelled.at(node) + p.at(node); n > 0 {
		t.Errorf("%d tasks began after their ends were reported", n)
	}
}

// A node whose disk hangs is not lost when it is told to drain: the order says so, and is carried out when the disk
// answers.
func TestDrainOfANodeOnADiskThatHangs(t *testing.T) {
	t.Parallel()
	const node = "node-0-000"
	d := mountDisk(t)
	c := start(t, cluster.Spec{
		Groups: []int{2}, Slots: 2,
		Configure: func(config any) {
			if c, ok := config.(*nodemonitor.Config); ok && c.ID == node {
				c.WorkDir = d.folder
			}
		},
	})
	s := scheduler(t, c.Frontends()[0])
	d.run(t, "fsfreeze", "-f")
	thaw := sync.OnceFunc(func() { d.run(t, "fsfreeze", "-u") })
	defer thaw() // a frozen disk would keep the test from ending
	for range 2 {
		if _, err := s.DrainNode(t.Context(), node, api.DrainOrder{}); err == nil || !strings.Contains(err.Error(), "its disk does not answer") {
			t.Errorf("the order was answered with %v", err)
		}
	}
	await.Until(t, "the node takes nothing", func() bool {
		n := nodeState(t, s, node)
		return n.State != api.StateUp && strings.Contains(n.Reason, "not answered")
	}, func() string { return fmt.Sprintf("%+v", nodeState(t, s, node)) })
	thaw()
	await.Until(t, "it drains because it was told to", func() bool {
		n := nodeState(t, s, node)
		return n.State == api.StateDrained && !strings.Contains(n.Reason, "disk")
	}, func() string { return fmt.Sprintf("%+v", nodeState(t, s, node)) })
	if _, err := s.ResumeNode(t.Context(), node); err != nil {
		t.Fatal(err)
	}
	awaitState(t, s, node, api.StateUp)
}

// mountedDisk is a file system of its own, which can be frozen.
type mountedDisk struct{ root, folder string }

// mountDisk makes and mounts one until the test ends, or skips the test where that is not possible.
func mountDisk(t *testing.T) *mountedDisk {
	t.Helper()
	dir := t.TempDir()
	image, root := filepath.Join(dir, "image"), filepath.Join(dir, "mounted")
	for _, err := range []error{os.WriteFile(image, nil, 0o600), os.Truncate(image, 256<<20), os.Mkdir(root, 0o700)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, command := range [][]string{{"mkfs.ext4", "-q", image}, {"mount", "-o", "loop", image, root}} {
		if text, err := exec.CommandContext(t.Context(), command[0], command[1:]...).CombinedOutput(); err != nil { //nolint:gosec // of this test
			t.Skipf("a disk that can be frozen is not to be had here: %v: %v: %s", command, err, text)
		}
	}
	d := &mountedDisk{root, filepath.Join(root, "work")}
	t.Cleanup(func() { (&mountedDisk{root: root}).run(t, "umount") })
	return d
}

// run runs a command on the disk.
func (d *mountedDisk) run(t *testing.T, command ...string) {
	t.Helper()
	if text, err := exec.Command(command[0], append(command[1:], d.root)...).CombinedOutput(); err != nil { //nolint:gosec,noctx // of this test; also after its end
		t.Errorf("%v: %v: %s", command, err, text)
	}
}
