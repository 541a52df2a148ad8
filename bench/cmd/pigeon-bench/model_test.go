package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/cli"
)

func TestModel(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "figures")
	code, stdout, stderr := pigeonBench(t, "model", "--group-sizes", "40,20", "--loads", "0.7", "--tasks", "5", "--simulate", "200", "--workers", "200", "--out", out, "-o", "json")
	if code != cli.ExitDone {
		t.Fatal(stderr)
	}
	lines := strings.Split(strings.TrimSpace(stdout), "\n")
	if len(lines) != 3 {
		t.Fatalf("%d points, want Sparrow's and two of Pigeon", len(lines))
	}
	var p struct {
		Policy    string
		Group     int
		Unqueued  *float64
		Simulated struct{ Unqueued float64 }
	}
	if err := json.Unmarshal([]byte(lines[1]), &p); err != nil || p.Policy != "pigeon" || p.Group != 20 || p.Unqueued == nil || p.Simulated.Unqueued <= 0 {
		t.Errorf("%v: %+v", err, p)
	}
	for _, name := range []string{"figure3a.svg", "figure3a.png", "figure3b.svg", "figure3b.png"} {
		if _, err := os.Stat(filepath.Join(out, name)); err != nil {
			t.Error(err)
		}
	}
	// The paper's own number for groups of 100 at load 0.9, by its formula.
	if code, stdout, _ := pigeonBench(t, "model", "--loads", "0.9", "--group-sizes", "100"); code != cli.ExitDone || !strings.Contains(stdout, "0.7663") {
		t.Errorf("status %d\n%s", code, stdout)
	}
	for args, want := range map[string]string{
		"--loads 1": "grow without end", "--group-sizes 0": "group of 0", "--simulate 5": "outside 20 to 100000 ", "--simulate -1": "-1 simulated jobs of 100 tasks are outside 20 to 100000 ", "more": "more",
		"--group-sizes 5 --out " + out + "/figure3a.svg/x": "--out",
	} {
		if code, stdout, stderr := pigeonBench(t, append([]string{"model"}, strings.Fields(args)...)...); code != cli.ExitUsage || stdout != "" || !strings.Contains(stderr, want) {
			t.Errorf("pigeon-bench model %s: status %d, want %q\n%s\n%s", args, code, want, stdout, stderr)
		}
	}
}
