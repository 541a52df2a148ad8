package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/cli"
	"github.com/pigeon-sched/pigeon/internal/workload"
)

func TestTraceAnswers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, c := range []struct {
		args           string
		code           int
		stdout, stderr string // part of it; "" means that nothing may be printed
	}{
		{"trace inspect gen:ec2,jobs=50", cli.ExitDone, "50 jobs", ""},
		{"trace convert gen:ec2,jobs=2", cli.ExitDone, "0 1 0.", ""},
		{"trace inspect", cli.ExitUsage, "", "gen:NAME"},
		{"trace inspect absent.tr", cli.ExitUsage, "", "absent.tr"},
		{"trace inspect gen:nothing", cli.ExitUsage, "", "nothing"},
		{"trace inspect gen:ec2 --load NaN", cli.ExitUsage, "", "--load"},
		{"trace inspect gen:ec2 --wrong-class 2", cli.ExitUsage, "", "--wrong-class"},
		{"trace inspect gen:ec2 --declared 2", cli.ExitUsage, "", "--declared"},
		{"trace inspect gen:ec2 --names 3,od=1", cli.ExitUsage, "", "odd"},
		{"trace inspect gen:ec2 --owners 3,flod=1", cli.ExitUsage, "", "flood"},
		{"trace inspect gen:ec2,jobs=5 --cutoff 0", cli.ExitUsage, "", "--cutoff 0s is outside"},
		{"trace inspect gen:ec2 --jobs -1", cli.ExitUsage, "", "--jobs"},
		{"trace convert gen:ec2,jobs=2 --to " + filepath.Join(dir, "absent", "x.tr"), cli.ExitFailed, "", "cannot be written"},
	} {
		code, stdout, stderr := pigeonBench(t, strings.Fields(c.args)...)
		if code != c.code || !strings.Contains(stdout, c.stdout) || !strings.Contains(stderr, c.stderr) || (c.stdout == "") != (stdout == "") || (c.stderr == "") != (stderr == "") {
			t.Errorf("%s: status %d, want %d\n%s\n%s", c.args, code, c.code, stdout, stderr)
		}
	}
}

// TestFailedWriteLeavesTheOldFile: the older trace survives a failing write.
func TestFailedWriteLeavesTheOldFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.tr")
	if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	full := errors.New("disk full")
	err := writeWhole(path, func(w io.Writer) error { _, _ = io.WriteString(w, "half"); return full })
	if got, _ := os.ReadFile(path); !errors.Is(err, full) || string(got) != "old" {
		t.Errorf("%v, file holds %q", err, got)
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 1 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

func TestSummary(t *testing.T) {
	const s = 1_000_000_000
	w := &workload.Workload{Name: "x", Jobs: []workload.Job{
		{Durations: []int64{s, 3 * s}, TrueLong: false},
		{Arrival: 10 * s, Durations: []int64{12 * s}, TrueLong: true},
	}}
	got := summarize(w, 2, time.Second)
	if got.Jobs != 2 || got.Tasks != 3 || got.Work != 16 || got.Span != 10 || got.Load != 0.8 {
		t.Errorf("%+v", got)
	}
	if got.Short.WorkShare != 0.25 || got.Short.Fanout.P50 != 2 || got.Short.Duration.P50 != 2 || got.Short.Duration.Max != 3 {
		t.Errorf("short: %+v", got.Short)
	}
	if got.Long.WorkShare != 0.75 || got.Long.Duration.P99 != 12 || got.All.Duration.P50 != 3 {
		t.Errorf("long %+v, all %+v", got.Long, got.All)
	}
	w.Jobs = w.Jobs[:1]
	var text strings.Builder
	short := summarize(w, 2, time.Second)
	if err := short.print(&text); err != nil || !regexp.MustCompile(`(?m)^ +long +0 +0 +0.0%( +-){8}$`).MatchString(text.String()) {
		t.Errorf("a workload without long jobs: %v\n%s", err, &text)
	}
	if text, err := json.Marshal(short.Long.Duration); string(text) != `{"p50":null,"p90":null,"p99":null,"max":null}` {
		t.Errorf("the durations of no job are %s, %v", text, err)
	}
}

// TestConvertRoundTrip: converting the converted changes nothing.
func TestConvertRoundTrip(t *testing.T) {
	dir := t.TempDir()
	first, second := filepath.Join(dir, "first.tr"), filepath.Join(dir, "second.tr")
	for _, c := range [][2]string{{"gen:ec2,jobs=200", first}, {first, second}} {
		if code, _, errs := pigeonBench(t, "trace", "convert", c[0], "--to", c[1]); code != cli.ExitDone {
			t.Fatal(errs)
		}
	}
	a, errA := os.ReadFile(first)
	b, errB := os.ReadFile(second)
	if errA != nil || errB != nil || len(a) == 0 || !bytes.Equal(a, b) {
		t.Errorf("%d and %d bytes differ; %v %v", len(a), len(b), errA, errB)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 2 {
		t.Errorf("left behind: %v %v", left, err)
	}
}
