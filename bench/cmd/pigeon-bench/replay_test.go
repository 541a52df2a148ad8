package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/cli"

	local "github.com/pigeon-sched/pigeon/cluster"
)

// tiny is a workload and cluster that takes a fraction of a second.
const tiny = " --trace gen:uniform,jobs=20,fanout=2 --workers 4 --groups 2 --frontends 2 --speedup 20 "

func TestReplay(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	history, base := filepath.Join(dir, "history.jsonl"), filepath.Join(dir, "out", "x")
	for _, c := range []struct {
		args   string
		code   int
		stdout string
		stderr string
	}{
		{"replay" + tiny + "-o json --history " + history, cli.ExitDone, `"mode":"live","policy":"pigeon","trace":"gen:uniform,jobs=20,fanout=2"`, ""},
		{"replay" + tiny + "--runs 2 --compare-sim --out " + base, cli.ExitDone, "live, median of 2", ""},
		{"replay" + tiny + "--demo --out " + base, cli.ExitDone, "Try next:", "replaying 20 jobs"},
		{"replay --isolation none", cli.ExitUsage, "", "none"},
		{"replay --speedup 0", cli.ExitUsage, "", "--speedup"},
		{"replay --runs 0", cli.ExitUsage, "", "--runs"},
		{"replay --trace absent.tr", cli.ExitUsage, "", "absent.tr"},
		{"replay --frontend 127.0.0.1", cli.ExitUsage, "", `--frontend "127.0.0.1" is no host:port`},
		{"replay --frontend 127.0.0.1:1", cli.ExitFailed, "", "127.0.0.1:1"},
		{"replay --seeds 2 --history " + history, cli.ExitUsage, "", "--history"},
		{"replay" + tiny + "--out " + base + "-alone", cli.ExitUsage, "", "-alone is for the comparison with the simulation; nothing was run; add --compare-sim"},
		{"replay" + tiny + "--compare-sim --seeds 2 --out " + base + "-two", cli.ExitUsage, "", "-two would be written by 2 runs"},
		{"replay more", cli.ExitUsage, "", "more"},
	} {
		code, stdout, stderr := pigeonBench(t, strings.Fields(c.args)...)
		if code != c.code || c.stdout == "" && stdout != "" || !strings.Contains(stdout, c.stdout) || !strings.Contains(stderr, c.stderr) {
			t.Errorf("pigeon %s: status %d, want %d\n%s\n%s", c.args, code, c.code, stdout, stderr)
		}
	}
	for _, path := range []string{history, base + ".jsonl", base + ".md", base + ".svg", base + ".png"} {
		if s, err := os.Stat(path); err != nil || s.Size() == 0 {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestReplayOnARunningCluster uses the frontends and sizes that are there, twice.
func TestReplayOnARunningCluster(t *testing.T) {
	t.Parallel()
	c, err := local.Start(t.Context(), local.Spec{Groups: []int{1, 2}, Slots: 2, Frontends: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for range 2 {
		code, stdout, stderr := pigeonBench(t, "replay", "--frontend", strings.Join(c.Frontends(), ","), "--trace", "gen:uniform,jobs=20,fanout=2", "--speedup", "20", "-o", "json")
		var r struct {
			Workers, Groups, Completed int
			CPU                        *float64 `json:"cpu_per_task"`
		}
		if err := json.Unmarshal([]byte(stdout), &r); code != cli.ExitDone || err != nil || r.Workers != 6 || r.Groups != 2 || r.Completed != 20 || r.CPU != nil {
			t.Errorf("status %d, %+v, %v\n%s%s", code, r, err, stdout, stderr)
		}
	}
	if code, _, stderr := pigeonBench(t, "replay", "--frontend", c.Frontends()[0], "--share", "a=2"); code != cli.ExitUsage || !strings.Contains(stderr, "--share applies to clusters that are started here") {
		t.Errorf("shares of a running cluster: status %d\n%s", code, stderr)
	}
}

func TestBench(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args   string
		code   int
		stdout string
		stderr string
	}{
		{"latency --samples 5 -o json", cli.ExitDone, `{"bench":"latency","samples":5,`, ""},
		{"latency --samples 5 --nodes 2 --groups 1 --workers 2", cli.ExitDone, "submission to start of the task", ""},
		{"launch --tasks 50 --job-tasks 7 -o json", cli.ExitDone, `{"bench":"launch","backend":"sleep","workers":120,"tasks":50,"duration":0,`, ""},
		{"launch --tasks 12 --duration 1ms --workers 3 --nodes 3 --no-sync", cli.ExitDone, "utilization", ""},
		{"latency --samples 5 --backend exec -o json", cli.ExitDone, `{"bench":"latency","samples":5,"backend":"exec",`, ""},
		{"latency --backend spark", cli.ExitUsage, "", "spark"},
		{"latency --samples 0", cli.ExitUsage, "", "--samples"},
		{"launch --tasks 0", cli.ExitUsage, "", "--tasks 0 is outside 1 to 100000000"},
		{"launch --duration 25h", cli.ExitUsage, "", "--duration 25h0m0s is outside 0s to 24h0m0s"},
		{"launch --backend spark", cli.ExitUsage, "", "spark"},
		{"launch --in-flight 0", cli.ExitUsage, "", "--in-flight"},
		{"launch --nodes 4", cli.ExitUsage, "", "--nodes"},
		{"launch --workers 7", cli.ExitUsage, "", "--workers"},
		{"launch --isolation none", cli.ExitUsage, "", "none"},
		{"launch --frontend 127.0.0.1", cli.ExitUsage, "", `--frontend "127.0.0.1" is no host:port`},
		{"launch --frontend 127.0.0.1:1", cli.ExitFailed, "", "127.0.0.1:1"},
		{"table --runs 0", cli.ExitUsage, "", "--runs"},
		{"table --only nonesuch", cli.ExitUsage, "", "nonesuch"},
	} {
		code, stdout, stderr := pigeonBench(t, strings.Fields(c.args)...)
		if code != c.code || c.stdout == "" && stdout != "" || !strings.Contains(stdout, c.stdout) || !strings.Contains(stderr, c.stderr) {
			t.Errorf("pigeon %s: status %d, want %d\n%s\n%s", c.args, code, c.code, stdout, stderr)
		}
	}
}
