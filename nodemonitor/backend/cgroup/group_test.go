package cgroup

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func openFake(t *testing.T, controllers string) (*fake, *Tree) {
	t.Helper()
	f := newFake(t, 0, "/unit")
	f.delegated[filepath.Join(f.root, "/unit")] = true
	f.cgroup("/unit", controllers, 100)
	tree, err := openTree("", f.system)
	if err != nil {
		t.Fatal(err)
	}
	return f, tree
}

// TestLimitsAreWritten: each limit is written to its file, and only those for which there are
// controllers.
func TestLimitsAreWritten(t *testing.T) {
	all := Limits{Memory: 64 << 20, CPUs: 1.5, Processes: 20, Weight: 10}
	for name, c := range map[string]struct {
		controllers string
		limits      Limits
		want        map[string]string
	}{
		"all":       {"cpu memory pids", all, map[string]string{"memory.max": "67108864", "memory.oom.group": "1", "memory.swap.max": "0", "pids.max": "20", "cpu.max": "150000 100000", "cpu.weight": "10"}},
		"no cpu":    {"memory pids", all, map[string]string{"memory.max": "67108864", "memory.oom.group": "1", "memory.swap.max": "0", "pids.max": "20"}},
		"memory":    {"cpu memory pids", Limits{Memory: 1 << 20}, map[string]string{"memory.max": "1048576", "memory.oom.group": "1", "memory.swap.max": "0"}},
		"little":    {"cpu memory pids", Limits{CPUs: 0.001}, map[string]string{"cpu.max": "1000 100000"}},
		"processes": {"cpu memory pids", Limits{Processes: 1}, map[string]string{"pids.max": "1"}},
	} {
		t.Run(name, func(t *testing.T) {
			f, tree := openFake(t, c.controllers)
			g, err := tree.Make("x.1", c.limits)
			if err != nil {
				t.Fatal(err)
			}
			if g.FD() < 0 {
				t.Error("no process can be started in it")
			}
			for _, file := range []string{"memory.max", "memory.oom.group", "memory.swap.max", "pids.max", "cpu.max", "cpu.weight"} {
				if got := f.read("/unit/task-x.1/" + file); got != c.want[file] {
					t.Errorf("%s is %q, want %q", file, got, c.want[file])
				}
			}
			if !g.Remove() || f.read("/unit/task-x.1/pids.max") != "" || g.FD() >= 0 {
				t.Error("it was not removed")
			}
		})
	}
}

func TestUsage(t *testing.T) {
	f, tree := openFake(t, "cpu memory pids")
	g, err := tree.Make("x.1", Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer g.CloseFD()
	if u := g.Usage(); u != (Usage{}) {
		t.Errorf("a kernel without these files shows %+v", u)
	}
	f.file("/unit/task-x.1/memory.peak", "65536\n")
	f.file("/unit/task-x.1/memory.events", "low 0\nhigh 0\nmax 9\noom 1\noom_kill 3\noom_group_kill 1\n")
	f.file("/unit/task-x.1/pids.events", "max 7\n")
	if u := g.Usage(); u != (Usage{65536, 3, 7}) {
		t.Errorf("the usage is %+v", u)
	}
}

// TestSharedByWeight: one cgroup for all processes of a weight, made once.
func TestSharedByWeight(t *testing.T) {
	f, tree := openFake(t, "cpu memory pids")
	first, err := tree.Shared(10)
	if err != nil {
		t.Fatal(err)
	}
	defer closeFolder(first)
	again, err := tree.Shared(10)
	if err != nil || again != first || f.read("/unit/weight-10/cpu.weight") != "10" {
		t.Errorf("the second is %d (%v), the first %d, its weight %q", again, err, first, f.read("/unit/weight-10/cpu.weight"))
	}
}

// TestSharedThatWasRemoved: the cgroup of a weight that somebody has removed is made again.
func TestSharedThatWasRemoved(t *testing.T) {
	f, tree := openFake(t, "cpu memory pids")
	if _, err := tree.Shared(10); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(tree.Root(), "weight-10")); err != nil {
		t.Fatal(err)
	}
	fd, err := tree.Shared(10)
	if err != nil {
		t.Fatal(err)
	}
	defer closeFolder(fd)
	if unix.Faccessat(fd, "cpu.weight", unix.F_OK, 0) != nil || f.read("/unit/weight-10/cpu.weight") != "10" {
		t.Errorf("the descriptor is not that of the cgroup, whose weight is %q", f.read("/unit/weight-10/cpu.weight"))
	}
	if again, err := tree.Shared(10); err != nil || again != fd {
		t.Errorf("the next one is %d (%v), the last %d", again, err, fd)
	}
}

// TestOldGroupsAreRemoved: those that an earlier guard has left are removed, and no new ones.
func TestOldGroupsAreRemoved(t *testing.T) {
	f, tree := openFake(t, "cpu memory pids")
	f.file("/unit/task-old.1/pids.max", "1")
	f.file("/unit/task-new.1/pids.max", "1")
	f.file("/unit/other/pids.max", "1")
	before := time.Now().Add(-time.Hour)
	for _, name := range []string{"task-old.1", "other"} {
		if err := os.Chtimes(filepath.Join(tree.Root(), name), before, before); err != nil {
			t.Fatal(err)
		}
	}
	tree.removeOld()
	if left := strings.Join(f.list(), "\n"); strings.Contains(left, "task-old.1") || !strings.Contains(left, "task-new.1") || !strings.Contains(left, "/other") {
		t.Errorf("what is left is\n%s", left)
	}
}

// TestReal gives a real process real limits, where this machine lets the test have a cgroup.
func TestReal(t *testing.T) {
	tree, err := Open(os.Getenv("PIGEON_TEST_CGROUP"))
	if err != nil {
		t.Skipf("no cgroup v2 for this test: %v; PIGEON_TEST_CGROUP names one", err)
	}
	g, err := tree.Make("test", Limits{Memory: 8 << 20, Processes: 5, CPUs: 1, Weight: 10})
	if err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{"memory.max": "8388608", "memory.oom.group": "1", "pids.max": "5", "cpu.max": "100000", "cpu.weight": "10"} {
		if got, err := words(g.folder, file); err != nil || len(got) == 0 || got[0] != want {
			t.Errorf("%s is %v (%v), want %s", file, got, err, want)
		}
	}
	if !g.Remove() {
		t.Error("it was not removed")
	}
}
