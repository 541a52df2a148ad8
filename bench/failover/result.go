package failover

import (
	_ "embed"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/pigeon-sched/pigeon/bench/markdown"
	"github.com/pigeon-sched/pigeon/internal/measure"
)

// Result is what "pigeon-bench failover" prints; times in seconds.
type Result struct {
	Bench   string    `json:"bench"`    // failover
	Runs    int       `json:"runs"`     // of each kind
	Kinds   []Measure `json:"kinds"`    // in the order in which they were measured
	LeftOut []string  `json:"left_out"` // what could not be measured here, and why
	Load    Load      `json:"load"`     // of the machine, one minute's
}

// Load is the machine's load average at the begin and the end, 0 where it is not known.
type Load struct {
	Before measure.Number `json:"before"` // when the measurement began
	After  measure.Number `json:"after"`  // when it ended
}

// Measure is the pauses after failures of one kind.
type Measure struct {
	Kind    string           `json:"kind"`     // name
	Means   string           `json:"means"`    // what fails
	Until   string           `json:"until"`    // what ends the pause
	P50     measure.Number   `json:"p50"`      // half of the pauses are at most this long
	P99     measure.Number   `json:"p99"`      // of 100 pauses 99; with fewer than 100 the longest
	Max     measure.Number   `json:"max"`      // the longest
	Goal50  measure.Number   `json:"goal_p50"` // 0: none
	Goal99  measure.Number   `json:"goal_p99"` // 0: none
	Samples []measure.Number `json:"samples"`  // in the order of the runs
}

func newMeasure(k kind, pauses []time.Duration) Measure {
	m := Measure{Kind: k.name, Means: k.means, Until: k.until, Goal50: measure.Number(k.goal.Seconds()), Goal99: measure.Number(k.most.Seconds())}
	for _, p := range pauses {
		m.Samples = append(m.Samples, measure.Number(p.Seconds()))
	}
	sorted := slices.Sorted(slices.Values(m.Samples))
	m.P50, m.P99, m.Max = percentile(sorted, 50), percentile(sorted, 99), percentile(sorted, 100)
	return m
}

// percentile returns the least value that the given percentage of the values does not exceed;
// it is missing without any value.
func percentile(sorted []measure.Number, percent int) measure.Number {
	if len(sorted) == 0 {
		return measure.Missing()
	}
	return sorted[max(0, (len(sorted)*percent+99)/100-1)]
}

//go:embed report.md.tmpl
var templates string

var report = markdown.MustParse(templates)

// Write writes the result as Markdown; machine describes the machine of the runs.
func (r *Result) Write(out io.Writer, machine, when string) error {
	t := markdown.Table{Head: []string{"failure", "until", "p50 (s)", "p99 (s)", "most (s)", "goal p50 / p99 (s)", "runs"}}
	for i := range r.Kinds {
		m := &r.Kinds[i]
		t.Rows = append(t.Rows, []string{m.Means, m.Until, seconds(m.P50), seconds(m.P99), seconds(m.Max), goal(m.Goal50) + " / " + goal(m.Goal99), fmt.Sprint(len(m.Samples))})
	}
	return report.Write(out, "failover", map[string]any{"Machine": machine, "When": when, "Table": t, "R": r})
}

func seconds(n measure.Number) string { return measure.Fixed(float64(n), 3) }

func goal(n measure.Number) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprint(float64(n))
}
