package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/bench/failover"
	"github.com/pigeon-sched/pigeon/internal/cli"
)

// One failure of each kind that needs no standbys, on real processes: each pause ends and is measured.
// Takeovers have tests of their own (TestNothingIsLostWithStandbys).
func TestFailover(t *testing.T) {
	if testing.Short() {
		t.Skip("a minute")
	}
	t.Parallel()
	const kinds = "process-killed,node-lost,frontend-restart,master-restart"
	code, stdout, stderr := pigeonBench(t, "failover", "--runs", "1", "--kinds", kinds, "-o", "json")
	var r failover.Result
	if err := json.Unmarshal([]byte(stdout), &r); err != nil || code != cli.ExitDone {
		t.Fatalf("status %d, %v\n%s\n%s", code, err, stdout, stderr)
	}
	if len(r.Kinds) != 4 || len(r.LeftOut) != 0 {
		t.Errorf("measured were %+v, left out %q", r.Kinds, r.LeftOut)
	}
	for _, k := range r.Kinds {
		if len(k.Samples) != 1 || k.Max <= 0 || k.P50 != k.Max {
			t.Errorf("%+v", k)
		}
	}
}

// A measurement that fails where daemons have hosts of their own fails the command, which names the
// kind and prints what was measured before; the folder is that of --data there as well.
func TestFailoverThatFailsApart(t *testing.T) {
	t.Parallel()
	code, stdout, stderr := pigeonBench(t, "failover", "--runs", "1", "--kinds", "master-partition", "--data", "/dev/null/x", "-o", "json")
	if strings.Contains(stdout, "may not make network namespaces here") {
		if code != cli.ExitFailed || !strings.Contains(stderr, "no kind of failure could be measured here") {
			t.Errorf("status %d of a command that measured nothing\n%s", code, stderr)
		}
		t.Skip("this test needs network namespaces: " + stdout)
	}
	if code != cli.ExitFailed || !strings.Contains(stdout, "ended with status 1") || !strings.Contains(stderr, "/dev/null: not a directory") || !strings.Contains(stderr, "master-partition could not be measured") {
		t.Errorf("status %d\n%s\n%s", code, stdout, stderr)
	}
}
