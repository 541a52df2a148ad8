package check

import (
	_ "embed"
	"io"
	"strconv"
	"time"

	"github.com/pigeon-sched/pigeon/bench/markdown"
	"github.com/pigeon-sched/pigeon/internal/sim"
)

//go:embed table.md.tmpl
var tables string

var report = markdown.MustParse(tables)

// Write writes the result as Markdown: a table of the policies and one of the kinds of
// faults. machine is what the runs were made on.
func (r *Result) Write(out io.Writer, machine string) error {
	policies := markdown.Table{Head: []string{"policy", "runs", "jobs", "attempts", "steps of cores", "faults", "violations"}}
	for _, s := range append(r.Policies, r.Total()) {
		policies.Rows = append(policies.Rows, []string{s.Policy, strconv.Itoa(s.Runs), strconv.Itoa(s.Jobs), strconv.Itoa(s.Attempts), count(s.Steps), count(s.Total()), strconv.Itoa(s.Violations)})
	}
	kinds, all := markdown.Table{Head: []string{"kind", "faults"}}, r.Total()
	for _, k := range (sim.AllKinds &^ sim.Drift).Each() {
		kinds.Rows = append(kinds.Rows, []string{k.String(), count(all.Faults[k.String()])})
	}
	return report.Write(out, "report", map[string]any{"Machine": machine, "Took": r.Took.Round(time.Second), "Policies": policies, "Kinds": kinds})
}

func count(n int64) string { return strconv.FormatInt(n, 10) }
