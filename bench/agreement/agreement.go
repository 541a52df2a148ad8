// Package agreement compares live runs with the simulation of the same workload and seed.
package agreement

import (
	_ "embed"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/pigeon-sched/pigeon/bench/markdown"
	"github.com/pigeon-sched/pigeon/bench/plot"
	"github.com/pigeon-sched/pigeon/internal/measure"
)

// Agreement compares live runs with the simulation of the same workload and seed.
type Agreement struct {
	Title string // the workload
	Sim   measure.Result
	Live  []measure.Result
	// Completion times in seconds by class (short, long), for the figure; LiveTimes
	// holds those of all live runs.
	SimTimes, LiveTimes [2][]float64
	// Others are simulations of the same workload under other policies.
	Others []Other
}

// Other is a simulation under another policy.
type Other struct {
	Name  string // as the table and the figure have it
	Sim   measure.Result
	Times [2][]float64 // as those of an Agreement
}

// ShortTable prints p50, p90 and p99 of the short jobs for a terminal: of the first live run, and under
// the other policies.
func (a *Agreement) ShortTable(out io.Writer) error {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "short jobs' completion time (s)\tp50\tp90\tp99")
	row := func(name string, r *measure.Result) {
		fmt.Fprint(t, name)
		for _, p := range measure.Statistics()[1:] { // without the mean
			fmt.Fprint(t, "\t", measure.Significant(float64(p.Of(&r.Short.Completion))))
		}
		fmt.Fprintln(t)
	}
	row("here, live, under "+a.Sim.Policy, &a.Live[0])
	for i := range a.Others {
		row(a.Others[i].Name, &a.Others[i].Sim)
	}
	return t.Flush()
}

// Row is one percentile of one class.
type Row struct {
	Class      string  `json:"class"`
	Percentile string  `json:"percentile"`
	Sim        float64 `json:"sim"`  // seconds
	Live       float64 `json:"live"` // median of the runs, seconds
	Least      float64 `json:"live_min"`
	Most       float64 `json:"live_max"`
	Percent    float64 `json:"percent"` // by how much live is above simulated
}

// Difference formats by how much live is above simulated; "-" where one of them has no such time, as
// live runs that were ended early, or the simulated time is 0.
func (r Row) Difference(decimals int) string {
	if math.IsNaN(r.Percent) || math.IsInf(r.Percent, 0) {
		return "-"
	}
	return fmt.Sprintf("%+.*f %%", decimals, r.Percent)
}

// Rows returns p50, p90 and p99 of the completion times of each class that has
// jobs.
func (a *Agreement) Rows() []Row {
	var rows []Row
	for class, name := range measure.ClassNames() {
		simulated := a.Sim.Class(class)
		if simulated.Jobs == 0 || len(a.Live) == 0 {
			continue
		}
		for _, p := range measure.Statistics()[1:] { // without the mean
			var live []float64
			for i := range a.Live {
				live = append(live, float64(p.Of(&a.Live[i].Class(class).Completion)))
			}
			slices.Sort(live)
			row := Row{Class: name, Percentile: p.Name, Sim: float64(p.Of(&simulated.Completion)),
				Live: measure.Percentile(live, 50), Least: live[0], Most: live[len(live)-1]}
			row.Percent = 100 * (row.Live - row.Sim) / row.Sim
			rows = append(rows, row)
		}
	}
	return rows
}

// Table prints the rows for a terminal.
func (a *Agreement) Table(out io.Writer) error {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	live := "live"
	if n := len(a.Live); n > 1 {
		live = fmt.Sprintf("live, median of %d\tfrom\tto", n)
	}
	fmt.Fprintf(t, "completion time (s)\tsimulated\t%s\tdifference\t\n", live)
	for _, r := range a.Rows() {
		fmt.Fprintf(t, "%s %s\t%s\t%s\t", r.Class, r.Percentile, measure.Significant(r.Sim), measure.Significant(r.Live))
		if len(a.Live) > 1 {
			fmt.Fprintf(t, "%s\t%s\t", measure.Significant(r.Least), measure.Significant(r.Most))
		}
		fmt.Fprintf(t, "%s\t\n", r.Difference(1))
	}
	return t.Flush()
}

//go:embed agreement.md.tmpl
var agreementTemplate string

var agreementReport = markdown.MustParse(agreementTemplate)

// Markdown writes the rows as a table of Markdown, with a heading and what each live
// run used.
func (a *Agreement) Markdown(out io.Writer) error { return agreementReport.Write(out, "report", a) }

// Text returns what Markdown writes.
func (a *Agreement) Text() (string, error) {
	var text strings.Builder
	err := a.Markdown(&text)
	return text.String(), err
}

// Figure writes base.svg and base.png: the distributions of completion times.
func (a *Agreement) Figure(base string) error {
	c := plot.CDF{Title: a.Title, XLabel: "completion time (s)"}
	for class, name := range measure.ClassNames() {
		if len(a.SimTimes[class]) == 0 || len(a.LiveTimes[class]) == 0 {
			continue
		}
		panel := plot.CDFPanel{Title: name + " jobs", Curves: []plot.Curve{
			{Name: "simulated", Values: a.SimTimes[class]}, {Name: "live", Values: a.LiveTimes[class]},
		}}
		for _, o := range a.Others {
			panel.Curves = append(panel.Curves, plot.Curve{Name: o.Name, Values: o.Times[class], Reference: true})
		}
		c.Panels = append(c.Panels, panel)
	}
	return c.WriteFiles(base)
}
