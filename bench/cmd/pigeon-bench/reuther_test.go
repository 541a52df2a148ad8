package main

import (
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/cli"
)

// A peer or a duration that is given twice would be measured once, or be two rows of one name.
func TestReutherRefusesRepetitions(t *testing.T) {
	for args, want := range map[string]string{
		"--peers floor,xargs,floor --durations 0s": "--peers: floor is given twice",
		"--peers floor --durations 100ms,0.1s":     "tasks of 100ms are given twice",
		"--peers floor --durations 0s,100ms,0s":    "tasks of 0s are given twice",
		"--peers flor --durations 0s":              `no peer "flor"`,
		"--peers floor --durations 1x":             `"1x" is no duration`,
	} {
		words := append([]string{"reuther", "--slots", "1", "--rounds", "1", "--zero", "1", "--work", "100ms"}, strings.Fields(args)...)
		if code, stdout, stderr := pigeonBench(t, words...); code != cli.ExitUsage || stdout != "" || !strings.Contains(stderr, want) {
			t.Errorf("pigeon-bench reuther %s: status %d, want %q\n%s\n%s", args, code, want, stdout, stderr)
		}
	}
}
