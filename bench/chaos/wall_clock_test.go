package chaos

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/pigeon-sched/pigeon/bench/history"
	"github.com/pigeon-sched/pigeon/cluster"
)

// TestJumps: clocks go forward and back, from a second to twelve days.
func TestJumps(t *testing.T) {
	for amount, want := range map[float64]int64{0: -1_000_000, 0.25: -1000, 0.5: 1, 0.75: 1000, 0.499: -1} {
		if by := jumpOf(amount); by != want {
			t.Errorf("%v: %d s, want %d", amount, by, want)
		}
	}
}

// TestShiftFile: a process reads the file that the injector wrote for it, and a program
// outside of a run has none.
func TestShiftFile(t *testing.T) {
	t.Setenv(cluster.WallClockVariable, "")
	if path := cluster.WallClockFile(7); path != "" {
		t.Errorf("outside of a run: %s", path)
	}
	dir := t.TempDir()
	t.Setenv(cluster.WallClockVariable, dir)
	if err := shiftWall(dir, 7, -90); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(cluster.WallClockFile(7)); err != nil || string(text) != "-90" {
		t.Errorf("%q, %v", text, err)
	}
}

// TestNoShiftWithoutItsBuild: a program that was built as usual is known to ignore jumps.
func TestNoShiftWithoutItsBuild(t *testing.T) {
	if (&Options{}).canShift() {
		t.Error("this test was not built by tools/wallshift.sh")
	}
	if (&Options{Binary: filepath.Join(t.TempDir(), "none")}).canShift() {
		t.Error("there is no such program")
	}
}

// TestDiskOfAFrontend: a fault changes one setting of a frontend's configuration, and its end
// takes the change back.
func TestDiskOfAFrontend(t *testing.T) {
	path := filepath.Join(t.TempDir(), "frontend-0.yaml")
	const good = "id: frontend-0\ndata: /x\n"
	for _, text := range []string{good, good + "journal_faults: \"slow=1ms\"\n"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, set := range []struct{ faults, want string }{
			{"fsync-error-after=3", good + "journal_faults: \"fsync-error-after=3\"\n"}, {"", good},
		} {
			if err := setFaults(path, set.faults); err != nil {
				t.Fatal(err)
			}
			if have, err := os.ReadFile(path); err != nil || string(have) != set.want {
				t.Errorf("%q: %q, %v", set.faults, have, err)
			}
		}
	}
	for kind, want := range map[string]string{history.SlowDisk: "slow=51ms", history.BadDisk: "fsync-error-after=51"} {
		if have := faultsOfDisk(planned{kind: kind, amount: 0.5}); have != want {
			t.Errorf("%s: %s", kind, have)
		}
	}
}
