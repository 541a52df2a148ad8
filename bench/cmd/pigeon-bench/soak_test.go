package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/bench/soak"
	"github.com/pigeon-sched/pigeon/internal/cli"
)

// A short soak of real daemons: all tasks end, every daemon that stays is measured in every way,
// and the exit status is that of the verdict, whatever it is.
func TestSoak(t *testing.T) {
	t.Parallel()
	code, stdout, stderr := pigeonBench(t, "soak", "--tasks", "10000", "--nodes", "9", "--every", "50ms", "-o", "json")
	var r soak.Result
	if err := json.Unmarshal([]byte(stdout), &r); err != nil {
		t.Fatalf("status %d, %v\n%s\n%s", code, err, stdout, stderr)
	}
	if r.Tasks != 10_000 || r.Failed != 0 || r.Samples == 0 {
		t.Errorf("%d tasks, of which %d failed; %d samples", r.Tasks, r.Failed, r.Samples)
	}
	measures := map[string]int{} // by daemon
	for _, v := range r.Verdicts {
		measures[strings.TrimRight(v.Daemon, "-0123456789")]++
		if v.End <= 0 || v.Points > r.Samples {
			t.Errorf("%+v of %d samples", v, r.Samples)
		}
	}
	roles, total := 0, 0
	for role, n := range measures {
		roles, total = roles+1, total+n
		if n < 2 {
			t.Errorf("%d measures of %s", n, role)
		}
	}
	if roles != 4 || total != (2+2+4)*3+2 { // memory, goroutines and descriptors; of NATS no goroutines
		t.Errorf("measured were %v", measures)
	}
	if want := map[bool]int{true: cli.ExitDone, false: cli.ExitFailed}[r.Flat()]; code != want || (stderr == "") != r.Flat() {
		t.Errorf("status %d of a run that is flat: %v\n%s", code, r.Flat(), stderr)
	}
}

// A run that ends before a sample was taken decides nothing, and reports that.
func TestSoakThatIsTooShort(t *testing.T) {
	t.Parallel()
	code, stdout, stderr := pigeonBench(t, "soak", "--tasks", "100", "--every", "1h")
	if code != cli.ExitFailed || !strings.HasPrefix(stdout, "TOO SHORT to tell: 100 tasks (0 failed)") || !strings.Contains(stderr, "--every") {
		t.Errorf("status %d\n%s\n%s", code, stdout, stderr)
	}
	if rows := strings.Count(stdout, "\n| "); rows != 2+(2+2+4)*3+2 || !strings.Contains(stdout, "| frontend-0 | memory | ") {
		t.Errorf("%d rows of a table:\n%s", rows, stdout)
	}
}

func TestSoakRefuses(t *testing.T) {
	for args, want := range map[string]string{
		"--tasks 0": "--tasks", "--nodes 8": "--nodes", "--for -1s": "--for", "--every 1ms": "--every", "--policy pigoen": "pigeon",
	} {
		if code, _, stderr := pigeonBench(t, append([]string{"soak"}, strings.Fields(args)...)...); code != cli.ExitUsage || !strings.Contains(stderr, want) {
			t.Errorf("pigeon-bench soak %s: status %d, want %d and %q\n%s", args, code, cli.ExitUsage, want, stderr)
		}
	}
}
