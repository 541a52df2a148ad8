package main

import (
	"strings"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/bench/agreement"
	local "github.com/pigeon-sched/pigeon/cluster"
	"github.com/pigeon-sched/pigeon/internal/childproc"
	"github.com/pigeon-sched/pigeon/internal/cli/simulation"
	"github.com/pigeon-sched/pigeon/internal/experiment"
	"github.com/pigeon-sched/pigeon/internal/measure"
	"github.com/spf13/cobra"
)

// TestPartialReplayBesideItsSimulation: a live run that was ended early is named as one below its
// comparison, and the end of the demo has the processor time that was used, not that of all tasks.
func TestPartialReplayBesideItsSimulation(t *testing.T) {
	d := experiment.Description{Trace: "gen:exp,jobs=20", Policies: []string{"pigeon"}, Groups: []int{4}, Frontends: 1, Cutoff: time.Second, Seed: 1, Seeds: 1}
	runs, err := d.Runs()
	if err != nil {
		t.Fatal(err)
	}
	w, err := runs[0].Workload()
	if err != nil {
		t.Fatal(err)
	}
	for _, partial := range []bool{false, true} {
		var out strings.Builder
		cmd := &cobra.Command{}
		cmd.SetOut(&out)
		cmd.SetContext(t.Context())
		s := &replayShow{
			cmd: cmd, flags: &replayFlags{Flags: &simulation.Flags{}, compare: true, demo: true, speedup: 7},
			used: local.Usage{Usage: childproc.Usage{CPU: 1500 * time.Millisecond}},
		}
		live := measure.Result{Jobs: 20, Tasks: 400, Completed: 5, Live: &measure.Live{CPUPerTask: 0.01}, Partial: partial}
		if err := s.compare(&runs[0], w, &agreement.Agreement{Live: []measure.Result{live}}); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(out.String(), "PARTIAL: a live run was ended early") != partial || !strings.Contains(out.String(), "used 1.5 s\nof processor") {
			t.Errorf("partial: %v\n%s", partial, &out)
		}
	}
}
