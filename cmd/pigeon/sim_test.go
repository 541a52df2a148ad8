package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/cli"
	"github.com/pigeon-sched/pigeon/internal/cli/simulation"
	"github.com/pigeon-sched/pigeon/internal/experiment"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/internal/sim"
	"github.com/pigeon-sched/pigeon/internal/workload"
	"github.com/spf13/cobra"
)

func TestSim(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, c := range []struct {
		args   string
		code   int
		stdout string
		stderr string
	}{
		{"sim --trace gen:ec2,jobs=50 --workers 12", cli.ExitDone, "50 of 50 jobs completed", ""},
		{"sim --trace gen:ec2,jobs=50 --group-sizes 6,4,2 --weight 3 -o json", cli.ExitDone, `"workers":12,"groups":3,"jobs":50,`, ""},
		{"sim --trace gen:ec2,jobs=50 --seed 4 --seeds 2", cli.ExitDone, "pigeon, seed 5", ""},
		{"sim --trace gen:ec2,jobs=50 --clairvoyant -o json", cli.ExitDone, `"clairvoyant":{"short":`, ""},
		{"sim --trace gen:ec2,jobs=50 --clairvoyant", cli.ExitDone, "(clairvoyant)  ", ""},
		{"sim --faults 7 --workers 12 --policy pigeon --policy kairos", cli.ExitDone, "ok        every accepted job ends, once (30)", ""},
		{"sim --faults 7 --workers 12 --jobs 5 --fault-kinds crash-node --fault-time 9s", cli.ExitDone, "dies and restarts after", ""},
		{"sim --faults master-every=10s,standby=1s --workers 12 --jobs 40", cli.ExitDone, "40 of 40 jobs completed", ""},
		{"sim --faults master-every=10s", cli.ExitUsage, "", "master-every=60s,standby=1s"},
		{"sim --faults master-every=x,standby=1s", cli.ExitUsage, "", `"master-every=x"`},
		{"sim --faults master-every=9s,standby=1s --fault-time 9s", cli.ExitUsage, "", "--fault-time"},
		{"sim --faults master-every=9s,standby=1s --policy sparrow", cli.ExitFailed, "", "none of groups"},
		{"sim --faults x", cli.ExitUsage, "", `--faults "x"`},
		{"sim --faults 1 --policy nonesuch", cli.ExitUsage, "", "nonesuch"},
		{"sim --faults 1 --fault-kinds crush-node", cli.ExitUsage, "", `did you mean "crash-node"`},
		{"sim --faults 1 --fault-time 0s", cli.ExitUsage, "", "--fault-time"},
		{"sim --faults 1 --seeds 2", cli.ExitUsage, "", "--seeds"},
		{"sim --faults 1 -o json", cli.ExitUsage, "", "-o json"},
		{"sim --faults 1 --classes learned", cli.ExitUsage, "", "--classes learned does not go with --faults SEED"},
		{"sim --faults 1 --jobs 5 --workers 12 --classes declared", cli.ExitDone, "5 jobs accepted", ""},
		{"sim --faults 3 --workers 12 --only-faults 0,1", cli.ExitUsage, "", "--only-faults 0"},
		{"sim --only-faults 1", cli.ExitUsage, "", "--faults SEED"},
		{"sim more", cli.ExitUsage, "", "more"},
		{"sim --trace absent.tr", cli.ExitUsage, "", "absent.tr"},
		{"sim --policy nonesuch", cli.ExitUsage, "", "nonesuch"},
		{"sim --groups 0", cli.ExitUsage, "", "--groups"},
		{"sim --group-sizes 0,0", cli.ExitUsage, "", "--group-sizes 0,0 has a group without workers"},
		{"sim --workers 2", cli.ExitUsage, "", "--groups"},
		{"sim --group-sizes 3,0", cli.ExitUsage, "", "--group-sizes 3,0"},
		{"sim --group-sizes 3,1 --workers 5", cli.ExitUsage, "", "--workers 5"},
		{"sim --group-sizes 3,1 --groups 5", cli.ExitUsage, "", "--groups 5"},
		{"sim --frontends 0", cli.ExitUsage, "", "frontends"},
		{"sim --delay -1s", cli.ExitUsage, "", "--delay"},
		{"sim --cutoff -1s", cli.ExitUsage, "", "--cutoff -1s is outside 1ns to 1111111h6m40s"},
		{"sim --cutoff 0", cli.ExitUsage, "", "--cutoff 0s is outside 1ns to 1111111h6m40s"},
		{"sim --cutoff 2000000h", cli.ExitUsage, "", "--cutoff 2000000h0m0s is outside"},
		{"sim --trace gen:ec2,jobs=5 --workers 12 --cutoff 1111111h", cli.ExitDone, "5 of 5 jobs completed", ""},
		{"sim --load NaN", cli.ExitUsage, "", "--load"},
		{"sim --seeds 2 --history " + filepath.Join(dir, "h"), cli.ExitUsage, "", "--history"},
		{"sim --actions " + filepath.Join(dir, "x") + " --history " + filepath.Join(dir, "x"), cli.ExitUsage, "", "--history and --actions would both write"},
		{"sim --actions " + filepath.Join(dir, "absent", "a"), cli.ExitUsage, "", "absent"},
	} {
		code, stdout, stderr := pigeon(t, strings.Fields(c.args)...)
		if code != c.code || c.stdout == "" && stdout != "" || !strings.Contains(stdout, c.stdout) || !strings.Contains(stderr, c.stderr) {
			t.Errorf("pigeon %s: status %d, want %d\n%s\n%s", c.args, code, c.code, stdout, stderr)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("refused runs left files: %v %v", left, err)
	}
}

// Faults that were asked for and did not happen are reported: as an error when none of that
// number is planned, else below the checks.
func TestSimOnlyFaults(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]struct {
		code           int
		stdout, stderr string
	}{
		"--only-faults 1":                          {cli.ExitDone, "#1 ", ""},
		"--only-faults 99999":                      {cli.ExitUsage, "30 jobs accepted", "no fault of the number 99999 is planned; the last that happens with seed 7 within 20s is number 70;"},
		"--only-faults 2,500,501":                  {cli.ExitUsage, "#2 ", "number 500,501 is planned"},
		"--only-faults 2 --fault-kinds crash-node": {cli.ExitDone, "did not happen: number 2,", ""},
	} {
		code, stdout, stderr := pigeon(t, append(strings.Fields("sim --faults 7 --policy kairos --workers 12"), strings.Fields(args)...)...)
		if code != want.code || !strings.Contains(stdout, want.stdout) || !strings.Contains(stderr, want.stderr) || (want.stderr == "") != (stderr == "") {
			t.Errorf("%s: status %d, want %+v\n%s\n%s", args, code, want, stdout, stderr)
		}
		if listed := strings.Contains(stdout, "did not happen"); listed != strings.HasPrefix(want.stdout, "did not") {
			t.Errorf("%s: faults that did not happen are listed: %v\n%s", args, listed, stdout)
		}
	}
}

// A run that violates a check is shown with its last steps and the command of a smaller
// run, and the verb fails.
func TestSimShowsViolations(t *testing.T) {
	cmd, out := &cobra.Command{}, &strings.Builder{}
	cmd.SetOut(out)
	cmd.SetContext(t.Context())
	e, flags := simulation.AddFlags(cmd.Flags()), simulation.AddFaultFlags(cmd.Flags())
	if err := cmd.Flags().Parse(strings.Fields("--faults 1 --policy hawk --workers 12 --jobs 20 --fault-time 5s")); err != nil {
		t.Fatal(err)
	}
	flags.Simulate = func(r *experiment.Run, ctx context.Context, w *workload.Workload, delay time.Duration, f sim.Faults) (*sim.Report, sim.Faults, int, error) {
		report, _, _, err := r.SimulateFaults(ctx, w, delay, f)
		report.Checks[0].Violated = fmt.Errorf("job %s was lost", sched.NewJobID("frontend-0", "10"))
		f.Only = []int{3, 5}
		return report, f, 4, err
	}
	runs, err := e.Runs()
	if err != nil {
		t.Fatal(err)
	}
	err = simulation.SimulateFaults(cmd, runs, time.Millisecond, flags)
	if err == nil || !strings.Contains(err.Error(), "seed 1") {
		t.Errorf("the error is %v", err)
	}
	for _, part := range []string{"VIOLATED", " was lost", "that concern the job, by their own clocks:\n", "distributor 0 <- shell: Submit job=" + sched.NewJobID("frontend-0", "10").String(), "The last steps of the cores:\n", "pigeon sim --faults 1 --fault-kinds loss,", "--only-faults 3,5 --jobs 4 --policy hawk", "--workers=12"} {
		if !strings.Contains(out.String(), part) {
			t.Errorf("%q is missing in\n%s", part, out)
		}
	}
}

// The command of a violation can be pasted into a shell, whatever the names of its files are.
func TestFaultCommandIsOfAShell(t *testing.T) {
	cmd := &cobra.Command{}
	e := simulation.AddFlags(cmd.Flags())
	simulation.AddFaultFlags(cmd.Flags())
	if err := cmd.Flags().Parse([]string{"--faults", "1", "--trace", "my jobs/$x's.tr", "--share", "team a/bob=2,max=0.5", "--group-sizes", "6,4"}); err != nil {
		t.Fatal(err)
	}
	got := simulation.FaultCommand(cmd.Flags(), &experiment.Run{Description: &e.Desc, Policy: "pigeon:weight=2"}, &sim.Faults{Seed: 1, Kinds: sim.CrashNode}, 3)
	out, err := exec.Command("sh", "-c", `pigeon() { printf '%s\n' "$@"; }; `+got).Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"--trace=my jobs/$x's.tr", "--share=team a/bob=2,max=0.5", "--group-sizes=6,4", "pigeon:weight=2"} {
		if !slices.Contains(strings.Split(string(out), "\n"), word) {
			t.Errorf("a shell reads the command %s without the word %q:\n%s", got, word, out)
		}
	}
}

// A fault that is not planned hides no violation, and ends no later run.
func TestSimShowsViolationsWithoutAFault(t *testing.T) {
	cmd := &cobra.Command{}
	cmd.SetOut(io.Discard)
	cmd.SetContext(t.Context())
	e, flags := simulation.AddFlags(cmd.Flags()), simulation.AddFaultFlags(cmd.Flags())
	if err := cmd.Flags().Parse(strings.Fields("--faults 1 --policy hawk --policy kairos --workers 12 --jobs 20 --fault-time 5s --only-faults 99999")); err != nil {
		t.Fatal(err)
	}
	runs, err := e.Runs()
	if err != nil {
		t.Fatal(err)
	}
	for violates, want := range map[string]string{"hawk": "1 of 2 runs violate", "kairos": "1 of 2 runs violate", "": "no fault of the number 99999"} {
		ran := 0
		flags.Simulate = func(r *experiment.Run, ctx context.Context, w *workload.Workload, delay time.Duration, f sim.Faults) (*sim.Report, sim.Faults, int, error) {
			report, _, _, err := r.SimulateFaults(ctx, w, delay, f)
			if ran++; r.Policy == violates {
				report.Checks[0].Violated = errors.New("a job was lost")
			}
			return report, f, 4, err
		}
		err := simulation.SimulateFaults(cmd, runs, time.Millisecond, flags)
		if _, wrong := errors.AsType[cli.UsageError](err); err == nil || !strings.Contains(err.Error(), want) || wrong != (violates == "") || ran != 2 {
			t.Errorf("%q violates: %d runs, %v", violates, ran, err)
		}
	}
}

// TestSimIsDeterministic: one seed has byte-identical actions, and results that
// differ only in how long they took.
func TestSimIsDeterministic(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var results [2]map[string]any
	var actions, histories [2]string
	for k := range 2 {
		a, h := filepath.Join(dir, "actions"), filepath.Join(dir, "history")
		code, out, errs := pigeon(t, "sim", "--trace", "gen:ec2,jobs=300", "--resample", "200", "--actions", a, "--history", h, "-o", "json")
		if code != cli.ExitDone {
			t.Fatal(errs)
		}
		if err := json.Unmarshal([]byte(out), &results[k]); err != nil {
			t.Fatal(err)
		}
		delete(results[k], "wall")
		for path, into := range map[string]*string{a: &actions[k], h: &histories[k]} {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			*into = string(text)
		}
	}
	first, err1 := json.Marshal(results[0])
	second, err2 := json.Marshal(results[1])
	if err1 != nil || err2 != nil || string(first) != string(second) || results[0]["completed"] != 200.0 {
		t.Errorf("two runs of one seed:\n%s\n%s", first, second)
	}
	if actions[0] != actions[1] || histories[0] != histories[1] || len(actions[0]) < 10_000 || len(histories[0]) < 10_000 {
		t.Errorf("actions of %d and %d bytes, histories of %d and %d", len(actions[0]), len(actions[1]), len(histories[0]), len(histories[1]))
	}
}

// A run without a short job says so, and which cutoff the generator's jobs have.
func TestSimWithoutShortJobs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ trace, want string }{
		{"gen:google,jobs=40", "none of the 40 jobs of gen:google,jobs=40 is short: the mean task of each is above the cutoff of 1s; to tell short jobs from long ones, give --cutoff 18m49.532s, which is that of gen:google"},
		{"gen:uniform,jobs=40,mean=10s,spread=0", "none of the 40 jobs of gen:uniform,jobs=40,mean=10s,spread=0 is short: the mean task of each is above the cutoff of 1s; to tell short jobs from long ones, give its --cutoff"},
		{"gen:ec2,jobs=40", ""},
	} {
		for _, args := range [][]string{{"sim", "--trace", c.trace}, {"sim", "--trace", c.trace, "-o", "json"}} {
			code, _, stderr := pigeon(t, args...)
			if code != cli.ExitDone || strings.Contains(stderr, "is short") != (c.want != "") || !strings.Contains(stderr, c.want) {
				t.Errorf("%v: status %d, stderr %q, want %q", args, code, stderr, c.want)
			}
		}
	}
}
