package main

import (
	"os"
	"path/filepath"
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
		if strings.Contains(out.String(), "PARTIAL: a live run was ended early") != partial || !strings.Contains(out.String(), "used 1.5 s of processor") {
			t.Errorf("partial: %v\n%s", partial, &out)
		}
	}
}

// TestDemo: the short jobs' times here, in one queue and under Sparrow come first, after a sentence about
// a machine that had other work, and the picture and the files have all of them.
func TestDemo(t *testing.T) {
	t.Parallel()
	base := filepath.Join(t.TempDir(), "run")
	out := succeed(t, strings.Fields("replay"+tiny+"--demo --out "+base)...)
	last := 0
	for _, want := range []string{
		"short jobs' completion time (s)  p50 ", "\nhere, live, under pigeon ", "\nin one queue, simulated ", "\nunder Sparrow, simulated ",
		"Of 100 short jobs 99 took at most ", "simulated ", "live  difference", "The plot: " + base + ".svg", "Try next:",
	} {
		at := strings.Index(out[last:], want)
		if at < 0 {
			t.Fatalf("no %q after the first %d bytes of\n%s", want, last, out)
		}
		last += at
	}
	results, err := os.ReadFile(base + ".jsonl")
	if err != nil || strings.Count(string(results), "\n") != 4 || !strings.Contains(string(results), `"policy":"fifo"`) || !strings.Contains(string(results), `"policy":"sparrow"`) {
		t.Errorf("the results, %v:\n%s", err, results)
	}
	picture, err := os.ReadFile(base + ".svg")
	for _, name := range []string{"in one queue, simulated", "under Sparrow, simulated", "live"} {
		if err != nil || !strings.Contains(string(picture), name) {
			t.Errorf("the picture has no %q, %v", name, err)
		}
	}
}

// TestDemoOnABusyMachine: other work is named before the figures, by the processor time that it used, or
// by the load average before the run.
func TestDemoOnABusyMachine(t *testing.T) {
	share := measure.Number(0.5)
	for _, c := range []struct {
		others *measure.Number
		load   float64
		want   string
	}{
		{nil, 0, ""}, {&share, 0, "This machine was busy: other programs used 50 %"}, {nil, 1e6, "This machine was busy: its load average was 1000000.0"},
	} {
		s := &replayShow{load: c.load}
		if got := s.busy(&measure.Result{Live: &measure.Live{OthersCPU: c.others}}); !strings.HasPrefix(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
