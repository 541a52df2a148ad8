package main

import (
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/cli"
)

func TestBenchSimRefusals(t *testing.T) {
	for args, want := range map[string]string{"--runs 0": "--runs", "--traces absent": "ngo_90.tr", "more": "more"} {
		if code, stdout, stderr := pigeonBench(t, append([]string{"sim"}, strings.Fields(args)...)...); code != cli.ExitUsage || stdout != "" || !strings.Contains(stderr, want) {
			t.Errorf("pigeon-bench speed %s: status %d, want %d and %q\n%s\n%s", args, code, cli.ExitUsage, want, stdout, stderr)
		}
	}
}
