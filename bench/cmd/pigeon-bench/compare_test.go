package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/bench/compare"
	"github.com/pigeon-sched/pigeon/internal/cli"
)

func TestCompare(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "a folder")
	args := []string{"compare", "--policies", "pigeon,pigeon:weight=2,reserved=0", "--workers", "12", "--seeds", "2", "--out", out}
	code, stdout, stderr := pigeonBench(t, append(args, "--traces", "gen:ec2,jobs=60,seed=3,gen:exp,jobs=80", "--loads", "0.5", "-o", "json")...)
	if code != cli.ExitDone {
		t.Fatal(stderr)
	}
	lines := strings.Split(strings.TrimSpace(stdout), "\n")
	if len(lines) != 2*2*2 {
		t.Errorf("%d results, want those of two policies, traces and seeds", len(lines))
	}
	var first map[string]any
	if err := json.Unmarshal([]byte(lines[0]), &first); err != nil || first["mode"] != "sim" || first["load_asked"] != 0.5 || first["trace"] != "gen:ec2,jobs=60,seed=3" {
		t.Errorf("%v: %v", err, first)
	}
	report, err := os.ReadFile(filepath.Join(out, "report.md"))
	if err != nil || !strings.Contains(string(report), "pigeon-bench compare --loads ") || !strings.Contains(string(report), "pigeon:weight=2,reserved=0") {
		t.Errorf("%v\n%s", err, report)
	}
	for _, name := range []string{"results.csv", "results.jsonl", "manifest.json", "figures/percentiles-gen-exp-jobs-80.svg", "figures/completion-gen-exp-jobs-80-0.5.png", "figures/time-gen-ec2-jobs-60-seed-3-0.5.svg"} {
		if s, err := os.Stat(filepath.Join(out, name)); err != nil || s.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	if code, stdout, stderr := pigeonBench(t, "compare", "results", out); code != cli.ExitDone || !strings.HasPrefix(stdout, "# Results") {
		t.Errorf("results: status %d\n%s\n%s", code, stdout, stderr)
	}
	if code, stdout, stderr = pigeonBench(t, append(args, "--traces", "gen:ec2,jobs=60")...); code != cli.ExitDone || !strings.Contains(stdout, "(clairvoyant)") || !strings.Contains(stdout, "report.md") {
		t.Errorf("as text: status %d\n%s\n%s", code, stdout, stderr)
	}
}

func TestCompareRefusals(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		"--policies pigoen":                                  `"pigeon"`,
		"--policies pigeon --traces absent.tr":               "absent.tr",
		"--workers 2":                                        "--groups 3",
		"--policies pigeon,pigeon":                           "given twice",
		"--policies pigeon --policy pigeon":                  "with --policies",
		"--loads 0.5 --load 0.7":                             "with --loads",
		"--loads x":                                          "--loads",
		"--policies pigeon --seeds 0":                        "seeds is 0",
		"--delay -1s":                                        "--delay",
		"--speedup 2":                                        "add --live",
		"--live --speedup 0":                                 "--speedup",
		"--policies pigeon --live --isolation cell":          "cell",
		"--policies pigeon,kairos:cores=7":                   "not a multiple",
		"--policies pigeon,kairos:q=0":                       "whole number from 1",
		"--policies pigeon --live --live-policies pigeno":    `"pigeon"`,
		"--policies pigeon --workers 3000 --groups 3 --live": "pigeon cannot run live: group 0 of a cluster on one machine has 1 to 250 nodes, not 1000",
		"--policies pigeon --traces ta/x.tr,tb/x.tr":         `"ta/x.tr" and "tb/x.tr" are both called "x"`,
		"--policies pigeon --loads 0.9001,0.9002":            "loads 0.9001 and 0.9002",
		"--policies pigeon --out " + file:                    "--out",
		"more":                                               "more",
		"results " + dir:                                     "manifest.json",
		"results":                                            "name a f",
	} {
		words := append([]string{"compare"}, strings.Fields(args)...)
		if !strings.Contains(args, "--out") && !strings.HasPrefix(args, "results") {
			words = append(words, "--out", filepath.Join(dir, "out"))
		}
		if code, stdout, stderr := pigeonBench(t, words...); code != cli.ExitUsage || stdout != "" || !strings.Contains(stderr, want) {
			t.Errorf("pigeon-bench compare %s: status %d, want %d and %q\n%s\n%s", args, code, cli.ExitUsage, want, stdout, stderr)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "out")); err == nil {
		t.Error("a refused comparison made its folder")
	}
}

func TestListKeepsParameters(t *testing.T) {
	for given, want := range map[string][]string{
		"a,b":                  {"a", "b"},
		"a:x=1,y=2,b":          {"a:x=1,y=2", "b"},
		"a:x=1,b:y=2,z=3":      {"a:x=1", "b:y=2,z=3"},
		"gen:e,jobs=1,odd.tr,": {"gen:e,jobs=1", "odd.tr"},
		"odd=1.tr,x":           {"odd=1.tr", "x"},
		"":                     nil,
	} {
		if got := list([]string{given}); !reflect.DeepEqual(got, want) {
			t.Errorf("list(%q) = %q, want %q", given, got, want)
		}
	}
	if got := list([]string{"a:x=1", "y=2"}); len(got) != 2 {
		t.Errorf("two flags made one value: %q", got)
	}
}

// A comparison that is interrupted keeps its runs and reports that; it leaves no folder of
// figures, and the same command continues it.
func TestInterruptedCompare(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "out")
	args := []string{"compare", "--policies", "pigeon", "--traces", "gen:ec2,jobs=50", "--workers", "16", "--groups", "2", "--out", out}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	var text, errs bytes.Buffer
	if code := run(ctx, args, strings.NewReader(""), &text, &errs); code != cli.ExitInterrupted || !strings.Contains(errs.String(), "the same command goes on from there") {
		t.Errorf("status %d: %s", code, errs.String())
	}
	if files, err := os.ReadDir(out); err != nil || len(files) != 1 || files[0].Name() != compare.KeptFolder {
		t.Errorf("it left %v, %v", files, err)
	}
	succeed(t, args...)
	if code, _, errs := pigeonBench(t, args...); code != cli.ExitDone || !strings.Contains(errs, "2 runs had ended before") {
		t.Errorf("the third time: status %d: %s", code, errs)
	}
	for _, file := range []string{compare.ReportFile, compare.FigureFolder} {
		if _, err := os.Stat(filepath.Join(out, file)); err != nil {
			t.Error(err)
		}
	}
}
