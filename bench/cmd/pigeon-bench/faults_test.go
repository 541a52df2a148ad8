package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/bench/check"
	"github.com/pigeon-sched/pigeon/internal/cli"
)

func TestFaults(t *testing.T) {
	code, stdout, stderr := pigeonBench(t, "faults", "--policy", "pigeon", "--total", "100", "-o", "json")
	var r check.Result
	if err := json.Unmarshal([]byte(stdout), &r); err != nil || code != 0 || stderr != "" || r.Faults() < 100 {
		t.Errorf("status %d, %v\n%s\n%s", code, err, stdout, stderr)
	}
	for args, want := range map[string]string{
		"--for 0": "--total", "--fault-kinds los": "loss", "--policy pigoen": "pigeon", "--fault-time 0s": "--fault-time", "--total -1": "--total",
		"--for 0 --total 5 --fault-kinds drift": "--total 5 would never be reached", "--policy hawk --policy hawk": `"hawk" is given twice`,
	} {
		if code, _, stderr := pigeonBench(t, append([]string{"faults"}, strings.Fields(args)...)...); code != cli.ExitUsage || !strings.Contains(stderr, want) {
			t.Errorf("pigeon-bench faults %s: status %d, want %d and %q\n%s", args, code, cli.ExitUsage, want, stderr)
		}
	}
	if code, _, stderr := pigeonBench(t, "faults", "--for", "1ns"); code != cli.ExitFailed || !strings.Contains(stderr, "no run was made within --for 1ns") {
		t.Errorf("status %d of a command that checked nothing, want %d\n%s", code, cli.ExitFailed, stderr)
	}
}
