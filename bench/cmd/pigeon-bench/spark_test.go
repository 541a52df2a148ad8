package main

import (
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/cli"
)

func TestSparkRefusals(t *testing.T) {
	for args, want := range map[string]string{
		"--repeats 0": "outside 1 to 100", "--only waves,speed": `"speed": there is no such part`,
		"--variant lease=false": "is not spark.KEY=VALUE", "more": "more",
	} {
		if code, stdout, stderr := pigeonBench(t, append([]string{"spark"}, strings.Fields(args)...)...); code != cli.ExitUsage || stdout != "" || !strings.Contains(stderr, want) {
			t.Errorf("pigeon-bench spark %s: status %d, want %d and %q\n%s\n%s", args, code, cli.ExitUsage, want, stdout, stderr)
		}
	}
}
