package main

import (
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/bench/launch"
	"github.com/pigeon-sched/pigeon/internal/measure"
)

// TestOfARunningCluster: what is not known of a running cluster is not printed as a number.
func TestOfARunningCluster(t *testing.T) {
	var out strings.Builder
	none, some := measure.Describe([]int64{}, 1), measure.Describe([]int64{2_000_000}, 1e-9)
	printLatency(&out, &launch.LatencyResult{Samples: 1, Workers: 4, SubmitToStart: none, SubmitToAnswer: some, EndToTold: none, SubmitToTold: some})
	printRate(&out, &launch.RateResult{Tasks: 1, Backend: "sleep", Workers: 4, Total: 1, Rate: 1, CPUPerTask: measure.Missing(), GeneratorCPU: 0.002})
	got := out.String()
	if strings.Contains(got, "NaN") || strings.Contains(got, "daemons") {
		t.Errorf("figures that are not known:\n%s", got)
	}
	for _, want := range []string{"start of the task                 -      -      -\n", "answer (on the disk)      2.000  2.000  2.000\n", "2000.0 us of processor a task of this client"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q:\n%s", want, got)
		}
	}
}
