package reuther

import (
	_ "embed"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/pigeon-sched/pigeon/bench/markdown"
	"github.com/pigeon-sched/pigeon/internal/measure"
)

//go:embed report.md.tmpl
var reportText string

var reportPage = markdown.MustParse(reportText)

// WriteReport writes the result as a page of Markdown. command is what made it.
func (r *Result) WriteReport(out io.Writer, command string) error {
	rounds, loads, foreign := 0, []float64{}, []float64{}
	for _, p := range r.Peers {
		for _, s := range p.Sets {
			rounds = len(s.Total)
			loads, foreign = append(loads, s.Load...), append(foreign, s.Foreign...)
		}
	}
	return reportPage.Write(out, "report", map[string]any{
		"R": r, "Command": command, "Began": r.Began.Format("2 January 2006."), "Rounds": rounds,
		"Loads":     fmt.Sprintf("%.1f to %.1f", slices.Min(loads), slices.Max(loads)),
		"Foreign":   fmt.Sprintf("%.0f to %.0f %%, median %.0f %%", 100*slices.Min(foreign), 100*slices.Max(foreign), 100*float64(medianOf(foreign))),
		"Disturbed": float64(medianOf(foreign)) >= measure.OthersMatter,
		"Kernel":    measure.Kernel(),
		"Totals":    r.totals(),
	})
}

// medianOf sorts a copy.
func medianOf(values []float64) measure.Number { return median(slices.Sorted(slices.Values(values))) }

// totals has a row for each set and peer, with its ratio to the floor where that was
// measured.
func (r *Result) totals() markdown.Table {
	t := markdown.Table{Head: []string{"t", "n", "peer", "T_total", "from - to", "tasks/s", "divided by the floor's", "processor a task (ms)", "divided by the floor's", "U"}}
	floor := slices.IndexFunc(r.Peers, func(p PeerResult) bool { return p.Name == "floor" })
	for s := range r.Peers[0].Sets {
		for _, p := range r.Peers {
			of := p.Sets[s]
			rate, cpu := "-", "-"
			if floor >= 0 {
				base := r.Peers[floor].Sets[s]
				rate, cpu = measure.Fixed(float64(of.Rate/base.Rate), 2), measure.Fixed(float64(of.CPU/base.CPU), 2)
			}
			t.Rows = append(t.Rows, []string{
				of.Set, fmt.Sprint(of.Each), p.Name, measure.Fixed(float64(of.Median), 3),
				fmt.Sprintf("%s - %s", measure.Fixed(of.Total[0], 3), measure.Fixed(of.Total[len(of.Total)-1], 3)),
				measure.Fixed(float64(of.Rate), 0), rate, measure.Fixed(1e3*float64(of.CPU), 2), cpu, measure.Fixed(float64(of.Utilization), 3),
			})
		}
	}
	return t
}

// WriteText writes the result as a table for a terminal.
func (r *Result) WriteText(out io.Writer) error {
	head := fmt.Sprintf("%d slots, t x n = %g s; medians\n\n%-6s %6s  %-10s %9s %9s %10s %6s\n", r.Slots, float64(r.Work), "t", "n", "peer", "T_total", "tasks/s", "ms/task", "U")
	var b strings.Builder
	b.WriteString(head)
	for s := range r.Peers[0].Sets {
		for _, p := range r.Peers {
			of := p.Sets[s]
			fmt.Fprintf(&b, "%-6s %6d  %-10s %9.3f %9.0f %10.2f %6.3f\n", of.Set, of.Each, p.Name, float64(of.Median), float64(of.Rate), 1e3*float64(of.CPU), float64(of.Utilization))
		}
	}
	for _, why := range r.LeftOut {
		fmt.Fprintf(&b, "left out: %s\n", why)
	}
	b.WriteString("T_total: seconds; ms/task: processor time of the machine; U: the work of a slot over T_total\n")
	_, err := io.WriteString(out, b.String())
	return err
}
