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
func TestBenchFailover(t *testing.T) {
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

// Every daemon of a small cluster is restarted in order: no attempt is lost, no job fails.
func TestBenchRolling(t *testing.T) {
	if testing.Short() {
		t.Skip("half a minute")
	}
	t.Parallel()
	code, stdout, stderr := pigeonBench(t, "rolling", "--groups", "1", "--nodes", "2", "--frontends", "1", "--standbys=false", "--longest", "3s", "--quiet", "4s", "-o", "json")
	var r failover.RollingResult
	if err := json.Unmarshal([]byte(stdout), &r); err != nil || code != cli.ExitDone {
		t.Fatalf("status %d, %v\n%s\n%s", code, err, stdout, stderr)
	}
	if r.Restarts != 1+1+1+2 || r.Jobs == 0 || r.Failed != 0 || r.Lost != 0 || r.QuietP99 <= 0 || r.RestartP99 <= 0 {
		t.Errorf("%+v", r)
	}
}

// A measurement that fails where daemons have hosts of their own fails the command, which names the
// kind and prints what was measured before; the folder is that of --data there as well.
func TestBenchFailoverThatFailsApart(t *testing.T) {
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
