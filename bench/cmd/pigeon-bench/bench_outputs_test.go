package main

import (
	"encoding/json"
	"testing"

	"github.com/pigeon-sched/pigeon/bench/outputs"
	"github.com/pigeon-sched/pigeon/internal/cli"
)

// Tasks that write more in all than the node keeps: all complete, the folder stays near the limit,
// the daemons' memory does not follow what is written, and every output is whole or its removal is
// reported.
func TestBenchOutputs(t *testing.T) {
	if testing.Short() {
		t.Skip("writes a gigabyte")
	}
	const limit, each, slots = 200_000_000, 10_000_000, 4
	code, stdout, stderr := pigeonBench(t, "outputs", "--tasks", "100", "--slots", "4", "--log-limit", "200000000", "--read", "100", "-o", "json")
	var r outputs.Result
	if err := json.Unmarshal([]byte(stdout), &r); err != nil || code != cli.ExitDone {
		t.Fatalf("status %d, %v\n%s\n%s", code, err, stdout, stderr)
	}
	if r.Tasks != 100 || r.Failed != 0 || r.Cut != 0 || r.Whole+r.Removed != r.Checked || r.Checked != 100 {
		t.Errorf("%+v", r)
	}
	if r.Whole == 0 || r.Whole > limit/each+slots || r.Removed == 0 {
		t.Errorf("%d outputs of %d bytes are whole and %d removed; the node keeps %d bytes", r.Whole, each, r.Removed, limit)
	}
	if r.NodeMemory > 250e6 || r.GuardMemory > 150e6 { // a leak would have a gigabyte; bench/results/launch.md has what it is
		t.Errorf("the node monitor had %d bytes, the guard %d", r.NodeMemory, r.GuardMemory)
	}
}

func TestBenchOutputsRefusals(t *testing.T) {
	for _, flag := range []string{"--tasks=0", "--bytes=-1", "--slots=0", "--log-limit=0", "--read=-1"} {
		if code, _, stderr := pigeonBench(t, "outputs", flag); code != cli.ExitUsage {
			t.Errorf("%s: status %d, %s", flag, code, stderr)
		}
	}
}
