package compare

import (
	_ "embed"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/pigeon-sched/pigeon/bench/agreement"
	"github.com/pigeon-sched/pigeon/bench/markdown"
	"github.com/pigeon-sched/pigeon/internal/measure"
)

//go:embed report.md.tmpl
var reportTemplates string

// report has the templates "report", "cells" and "results".
var report = markdown.MustParse(reportTemplates)

// Report writes report.md: how the comparison was made, tables and figures.
func (c *Comparison) Report(w io.Writer) error {
	return report.Write(w, "report", comparisonReport{Comparison: c, Figures: c.figureList(), FigureFolder: FigureFolder})
}

// comparisonReport is what the templates have of a comparison.
type comparisonReport struct {
	*Comparison
	Name         string
	Figures      []Figure
	FigureFolder string
}

// CommandLine returns the command so that a shell reads it as it was.
func (m *Manifest) CommandLine() string {
	quoted := make([]string, len(m.Command))
	for i, w := range m.Command {
		quoted[i] = w
		if w == "" || strings.ContainsAny(w, " \t\n'\"\\$`*?[]{}()<>|&;#~!") {
			quoted[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}

// GroupSizes returns the sizes of groups that are not equal, "" otherwise.
func (m *Manifest) GroupSizes() string {
	for _, g := range m.Groups {
		if g > m.Groups[0] || g < m.Groups[0]-1 {
			return strings.Join(strings.Fields(strings.Trim(fmt.Sprint(m.Groups), "[]")), ", ")
		}
	}
	return ""
}

// LastSeed returns the greatest seed.
func (m *Manifest) LastSeed() uint64 { return m.Seed + uint64(m.Seeds) - 1 } //nolint:gosec // a count above 0

// Milliseconds returns the delay of a message.
func (m *Manifest) Milliseconds() float64 { return 1000 * m.Delay }

// cellReport is what the templates have of a cell.
type cellReport struct {
	Title               string
	Cell                Cell
	ShortJobs, LongJobs int
	Tables              []markdown.Table
	Agreements          []*agreement.Agreement
}

// CellReports returns the reports of all cells.
func (c *Comparison) CellReports() (list []cellReport) {
	for i := range c.Cells {
		r := &c.Cells[i]
		first := &r.Policies[0].Results[0]
		report := cellReport{Title: r.Cell.Title(), Cell: r.Cell, ShortJobs: first.Short.Jobs, LongJobs: first.Long.Jobs}
		for class, name := range measure.ClassNames() {
			if rows := r.rows(i, class); len(rows) > 0 {
				report.Tables = append(report.Tables, c.completions(name, rows))
			}
		}
		report.Tables = append(append(report.Tables, r.wideTable()...), r.ownerTables()...)
		report.Tables = append(report.Tables, r.costs(), r.states())
		report.Agreements = r.agreements()
		list = append(list, report)
	}
	return list
}

// completions is the table of one class: ratios of every policy and reference, and times.
func (c *Comparison) completions(class string, rows []Row) markdown.Table {
	t := markdown.Table{Head: []string{class + " jobs, completion", "mean / " + c.Manifest.Policies[0], "p50", "p90", "p99", "mean (s)", "p50 (s)", "p90 (s)", "p99 (s)"}}
	if len(rows) > 0 && rows[0].Seeds < c.Manifest.Seeds {
		t.Head[0] += fmt.Sprintf(" (of %d of %d seeds; the others drew none)", rows[0].Seeds, c.Manifest.Seeds)
	}
	for start := range rows {
		r := rows[start]
		if r.Of != "completion" || r.What != "mean" {
			continue
		}
		name := r.Policy
		switch r.Mode {
		case ModeReference:
			name = "*" + name + "*"
		case ModeLive:
			name += ", live"
		}
		cells := []string{name}
		for k := range measure.Statistics() {
			cells = append(cells, ratio(rows[start+k].Relative))
		}
		for k := range measure.Statistics() {
			cells = append(cells, timed(rows[start+k].Value))
		}
		t.Rows = append(t.Rows, cells)
	}
	return t
}

// ratio formats a mean, with its interval where there is one.
func ratio(in Interval) string {
	if !in.wide() {
		return significant(float64(in.Mean))
	}
	return significant(float64(in.Mean)) + " [" + significant(float64(in.Low)) + ", " + significant(float64(in.High)) + "]"
}

// timed formats a mean that is the middle of its interval.
func timed(in Interval) string {
	if !in.wide() {
		return significant(float64(in.Mean))
	}
	return significant(float64(in.Mean)) + " ± " + significant(float64(in.High-in.Mean))
}

// wide reports whether the interval is worth showing: not for one seed, nor when all
// seeds agree except for rounding.
func (in Interval) wide() bool {
	return float64(in.High-in.Low) > 1e-9*math.Abs(float64(in.Mean)) // not so for NaN
}

// significant formats three digits; a ratio of exactly 1 is the reference itself.
func significant(x float64) string {
	if x == 1 {
		return "1"
	}
	return measure.Significant(x)
}

// costs is the table of the costs of scheduling, as means over the seeds: a share of the jobs of a
// class over those that have such jobs.
func (r *CellResult) costs() markdown.Table {
	t := markdown.Table{Head: []string{"simulated", "messages / task", "suspensions / task", "attempts / task", "workers busy", "short jobs unqueued", "long jobs unqueued", "makespan (s)", "run took (s)"}}
	for _, p := range r.Policies {
		var sums, seeds [8]float64
		for k := range p.Results {
			x := &p.Results[k]
			for i, v := range []float64{
				float64(x.MessagesPerTask), float64(x.SuspensionsPerTask), float64(x.Attempts) / float64(x.Tasks), 100 * float64(x.Utilization),
				100 * float64(x.Short.Unqueued), 100 * float64(x.Long.Unqueued), float64(x.Makespan), float64(x.Wall),
			} {
				if !math.IsNaN(v) {
					sums[i] += v
					seeds[i]++
				}
			}
		}
		for i := range sums {
			sums[i] /= seeds[i] // 0/0 is NaN
		}
		fixed := measure.Fixed
		t.Rows = append(t.Rows, []string{
			p.Policy, fixed(sums[0], 2), fixed(sums[1], 3), fixed(sums[2], 3), percent(sums[3]), percent(sums[4]), percent(sums[5]), fixed(sums[6], 1), fixed(sums[7], 2),
		})
	}
	return t
}

// percent formats a share that is given in percent, "-" for one of nothing.
func percent(x float64) string {
	if math.IsNaN(x) {
		return "-"
	}
	return measure.Fixed(x, 1) + " %"
}

// states is the table of the messages that each role sends and the state that it holds.
func (r *CellResult) states() markdown.Table {
	t := markdown.Table{Head: []string{"a task's messages, and state", "from frontends", "from masters", "from workers", "largest frontend", "largest master", "largest worker", "all together"}}
	for _, p := range r.Policies {
		if p.State == nil {
			continue
		}
		cells, all := []string{p.Policy}, int64(0)
		for _, role := range measure.Roles() {
			cells = append(cells, measure.Fixed(float64(p.State.ByRole(role).Sent), 2))
		}
		for _, role := range measure.Roles() {
			s := p.State.ByRole(role)
			cells, all = append(cells, storage(s.Bytes)+" ("+strconv.FormatInt(s.Entries, 10)+")"), all+s.All
		}
		t.Rows = append(t.Rows, append(cells, storage(all)))
	}
	return t
}

// storage formats an amount of memory.
func storage(n int64) string {
	switch {
	case n < 10<<10:
		return strconv.FormatInt(n, 10) + " B"
	case n < 10<<20:
		return measure.Fixed(float64(n)/(1<<10), 0) + " KiB"
	}
	return measure.Fixed(float64(n)/(1<<20), 0) + " MiB"
}

// agreements compares each policy's live runs with its simulation.
func (r *CellResult) agreements() (list []*agreement.Agreement) {
	for _, p := range r.Policies {
		if len(p.Live) > 0 {
			list = append(list, &agreement.Agreement{
				Title: p.Policy + " on " + r.Cell.Title() + ": live beside simulated", Sim: p.Results[0], Live: p.Live,
			})
		}
	}
	return list
}
