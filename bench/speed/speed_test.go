package speed

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/policy"
)

func TestMeasures(t *testing.T) {
	dir := t.TempDir()
	if _, err := Measures(dir); err == nil || !strings.Contains(err.Error(), "ngo_90.tr") || !strings.Contains(err.Error(), "--traces") {
		t.Errorf("without traces: %v", err)
	}
	for _, name := range []string{"ngo_90.tr", "goog_sub.tr"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	all, err := Measures(dir)
	if err != nil {
		t.Fatal(err)
	}
	if want := 2*len(policy.Compared()) + 1; len(all) != want {
		t.Errorf("%d measures, want %d", len(all), want)
	}
	limits := map[time.Duration]int{}
	for _, m := range all {
		limits[m.Limit]++
		if m.Args[0] != "sim" || !slices.Contains(m.Args, m.Policy) {
			t.Errorf("%s on %s runs %v", m.Policy, m.Setting, m.Args)
		}
	}
	if limits[time.Minute] != 2 || limits[5*time.Second] != 1 || limits[time.Second] != len(policy.Compared()) {
		t.Errorf("limits %v", limits)
	}
}

func TestTake(t *testing.T) {
	measures := []Measure{{Setting: "here", Policy: "pigeon", Args: []string{"-c", "exit 0"}, Limit: time.Hour}}
	rows, err := Run(t.Context(), []string{"sh"}, measures, 3, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	if r := rows[0]; len(rows) != 1 || len(r.Took) != 3 || !slices.IsSorted(r.Took) || r.Memory < 1<<16 || !r.Met() {
		t.Errorf("%+v", rows)
	}
	measures[0].Args[1] = "echo why >&2; exit 3"
	if _, err := Run(t.Context(), []string{"sh"}, measures, 1, func(string) {}); err == nil || !strings.Contains(err.Error(), "why") {
		t.Errorf("a run that fails: %v", err)
	}
}

func TestWriteTable(t *testing.T) {
	took := []time.Duration{time.Second, 2 * time.Second, 9 * time.Second}
	m := Measure{Setting: "here", Policy: "pigeon", Limit: 2 * time.Second}
	slow := m
	slow.Limit = time.Second
	rows := []Row{{m, took, 3 << 20}, {slow, took, 3 << 20}, {m, took, MemoryLimit + 1}}
	var out bytes.Buffer
	if err := WriteTable(&out, rows); err != nil {
		t.Fatal(err)
	}
	want := "| here | pigeon | 2 | 2.00 | 1.00 - 9.00 | 3 | yes |"
	if !strings.Contains(out.String(), want) || strings.Count(out.String(), "**no**") != 2 {
		t.Errorf("want %q and two limits that are not met:\n%s", want, out.String())
	}
}
