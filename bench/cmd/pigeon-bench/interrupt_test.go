package main

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/cli"
)

// A measurement that its user interrupts ends with 130, as the verbs of pigeon do.
func TestInterruptedMeasurements(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, line := range []string{
		"model --simulate 1000 --out " + t.TempDir(), "latency --samples 10",
		"launch --tasks 10", "fair", "faults", "replay --trace gen:uniform,jobs=5",
	} {
		var out, errs bytes.Buffer
		if code := run(ctx, strings.Fields(line), strings.NewReader(""), &out, &errs); code != cli.ExitInterrupted || !strings.HasPrefix(errs.String(), "interrupted") {
			t.Errorf("%s: status %d, %q, want %d", line, code, errs.String(), cli.ExitInterrupted)
		}
	}
}

// TestNoHint: a cluster that does not answer is a failure, not wrong use.
func TestNoHint(t *testing.T) {
	t.Parallel()
	for _, verb := range []string{"replay", "latency", "launch"} {
		code, _, errs := pigeonBench(t, append(strings.Fields(verb), "--frontend", "127.0.0.1:1")...)
		if code != cli.ExitFailed || strings.Contains(errs, "--help") || !strings.Contains(errs, "127.0.0.1:1") {
			t.Errorf("pigeon-bench %s: status %d: %s", verb, code, errs)
		}
	}
}

// TestHelpOfPeers: the help lists the peers that can be measured.
func TestHelpOfPeers(t *testing.T) {
	t.Parallel()
	if _, out, _ := pigeonBench(t, "reuther", "--help"); !strings.Contains(out, "pigeon, pigeon-dev, xargs") {
		t.Error(out)
	}
}
