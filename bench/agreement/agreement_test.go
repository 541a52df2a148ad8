package agreement

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/measure"
)

func TestAgreement(t *testing.T) {
	result := func(p50 float64) measure.Result {
		c := measure.Distribution{P50: measure.Number(p50), P90: 2, P99: 3}
		return measure.Result{Short: measure.Summary{Jobs: 5, Completion: c}}
	}
	a := &Agreement{
		Title: "a title", Sim: result(1), Live: []measure.Result{result(1.3), result(1.05), result(0.9)},
		SimTimes: [2][]float64{{1, 2, 3}, nil}, LiveTimes: [2][]float64{{1, 2.5, 3}, nil},
	}
	rows := a.Rows()
	if len(rows) != 3 {
		t.Fatalf("%+v", rows) // there are no long jobs
	}
	if r := rows[0]; r.Class != "short" || r.Percentile != "p50" || r.Live != 1.05 || r.Least != 0.9 || r.Most != 1.3 || r.Percent < 4.99 || r.Percent > 5.01 {
		t.Errorf("%+v", r)
	}
	var table, markdown bytes.Buffer
	if err := a.Table(&table); err != nil || !strings.Contains(table.String(), "+5.0 %") || !strings.Contains(table.String(), "median of 3") {
		t.Errorf("%v\n%s", err, table.String())
	}
	if err := a.Markdown(&markdown); err != nil || !strings.Contains(markdown.String(), "| short p50 | 1.00 | 1.05 | 0.900 - 1.30 | +5.00 % |") {
		t.Errorf("%v\n%s", err, markdown.String())
	}
	base := filepath.Join(t.TempDir(), "figure")
	if err := a.Figure(base); err != nil {
		t.Fatal(err)
	}
	for _, suffix := range []string{".svg", ".png"} {
		if s, err := os.Stat(base + suffix); err != nil || s.Size() == 0 {
			t.Errorf("%s: %v", suffix, err)
		}
	}
	if err := (&Agreement{}).Figure(base); err == nil {
		t.Error("a figure of nothing was drawn")
	}
}

// A class of which no live job has completed, and a simulated time of 0 s, have no difference.
func TestAgreementOfNothing(t *testing.T) {
	simulated, live := measure.Result{Load: measure.Missing()}, measure.Result{}
	simulated.Short.Jobs, simulated.Long.Jobs = 2, 1
	simulated.Long.Completion = measure.Distribution{P50: 30, P90: 30, P99: 30}
	live.Short.Completion, live.Long.Completion = measure.Distribution{P50: 1, P90: 1, P99: 1}, measure.Describe([]int64{}, 1)
	a := &Agreement{Sim: simulated, Live: []measure.Result{live}}
	var table, markdown bytes.Buffer
	if err := errors.Join(a.Table(&table), a.Markdown(&markdown)); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{table.String(), markdown.String()} {
		if strings.Contains(text, "NaN") || strings.Contains(text, "Inf") {
			t.Errorf("figures of nothing:\n%s", text)
		}
	}
	if !strings.Contains(markdown.String(), "| long p50 | 30.0 | - | - - - | - |") || !strings.Contains(markdown.String(), "| short p50 | 0 | 1.00 | 1.00 - 1.00 | - |") {
		t.Error(markdown.String())
	}
}
