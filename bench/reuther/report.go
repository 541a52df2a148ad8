package reuther

import (
	_ "embed"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pigeon-sched/pigeon/bench/plot"
	"github.com/pigeon-sched/pigeon/internal/markdown"
	"github.com/pigeon-sched/pigeon/internal/measure"
)

//go:embed report.md.tmpl
var reportText string

var reportPage = markdown.MustParse(reportText)

// WriteReport writes the result as a page of Markdown. command is what made it; figures is
// the folder of the figures as the page names it, with a slash at the end, "" without any.
func (r *Result) WriteReport(out io.Writer, command, figures string) error {
	rounds, loads, foreign := 0, []float64{}, []float64{}
	for _, p := range r.Peers {
		for _, s := range p.Sets {
			rounds = len(s.Total)
			loads, foreign = append(loads, s.Load...), append(foreign, s.Foreign...)
		}
	}
	return reportPage.Write(out, "report", map[string]any{
		"R": r, "Command": command, "Figures": figures, "Began": r.Began.Format("2 January 2006."), "Rounds": rounds,
		"Loads":     fmt.Sprintf("%.1f to %.1f", slices.Min(loads), slices.Max(loads)),
		"Foreign":   fmt.Sprintf("%.0f to %.0f %%, median %.0f %%", 100*slices.Min(foreign), 100*slices.Max(foreign), 100*float64(medianOf(foreign))),
		"Disturbed": float64(medianOf(foreign)) >= measure.OthersMatter,
		"Kernel":    measure.Kernel(),
		"Totals":    r.totals(), "Models": r.models(),
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
				rate, cpu = markdown.Fixed(float64(of.Rate/base.Rate), 2), markdown.Fixed(float64(of.CPU/base.CPU), 2)
			}
			t.Rows = append(t.Rows, []string{
				of.Set, fmt.Sprint(of.Each), p.Name, markdown.Fixed(float64(of.Median), 3),
				fmt.Sprintf("%s - %s", markdown.Fixed(of.Total[0], 3), markdown.Fixed(of.Total[len(of.Total)-1], 3)),
				markdown.Fixed(float64(of.Rate), 0), rate, markdown.Fixed(1e3*float64(of.CPU), 2), cpu, markdown.Fixed(float64(of.Utilization), 3),
			})
		}
	}
	return t
}

func (r *Result) models() markdown.Table {
	t := markdown.Table{Head: []string{"peer", "t_s (s)", "alpha_s", "sets"}}
	for _, p := range r.Peers {
		t.Rows = append(t.Rows, []string{p.Name, markdown.Significant(float64(p.Model.Latency)), markdown.Fixed(float64(p.Model.Exponent), 2), fmt.Sprint(p.Model.Points)})
	}
	return t
}

// WriteText writes the result as a table for a terminal.
func (r *Result) WriteText(out io.Writer) error {
	head := fmt.Sprintf("%d slots, t x n = %g s; medians\n\n%-24s %6s  %-10s %9s %9s %10s %6s\n", r.Slots, float64(r.Work), "t", "n", "peer", "T_total", "tasks/s", "ms/task", "U")
	var b strings.Builder
	b.WriteString(head)
	for s := range r.Peers[0].Sets {
		for _, p := range r.Peers {
			of := p.Sets[s]
			fmt.Fprintf(&b, "%-24s %6d  %-10s %9.3f %9.0f %10.2f %6.3f\n", of.Set, of.Each, p.Name, float64(of.Median), float64(of.Rate), 1e3*float64(of.CPU), float64(of.Utilization))
		}
	}
	b.WriteString("\nT_total - t n = t_s n^alpha_s\n")
	for _, p := range r.Peers {
		if math.IsNaN(float64(p.Model.Latency)) {
			fmt.Fprintf(&b, "%-24s no fit: it takes %d lengths of tasks above zero with a T_total above their work\n", p.Name, leastNumbers)
			continue
		}
		fmt.Fprintf(&b, "%-24s t_s %s s, alpha_s %s\n", p.Name, markdown.Significant(float64(p.Model.Latency)), markdown.Fixed(float64(p.Model.Exponent), 2))
	}
	for _, why := range r.LeftOut {
		fmt.Fprintf(&b, "left out: %s\n", why)
	}
	b.WriteString("T_total: seconds; ms/task: processor time of the machine; U: the work of a slot over T_total\n")
	_, err := io.WriteString(out, b.String())
	return err
}

// WriteFigures draws utilization over t and overhead over n, measured and by the model, as
// utilization and overhead, each .png and .svg, in the folder. Without a set of constant length
// above zero there is nothing to draw: drawn is false.
func (r *Result) WriteFigures(folder string) (drawn bool, err error) {
	utilization := plot.SeriesPanel{YLabel: "utilization"}
	overhead := plot.SeriesPanel{YLabel: "T_total - t n (s)"}
	for _, p := range r.Peers {
		u, o := plot.Line{Name: p.Name, Kind: plot.Marks}, plot.Line{Name: p.Name, Kind: plot.Marks}
		sets := slices.DeleteFunc(slices.Clone(p.Sets), func(s SetResult) bool { return s.Variable || s.Multilevel > 1 || s.Duration == 0 })
		slices.SortFunc(sets, func(a, b SetResult) int { return b.Each - a.Each })
		for _, s := range sets {
			u.Times, u.Values = append(u.Times, float64(s.Duration)), append(u.Values, float64(s.Utilization))
		}
		for _, s := range slices.Backward(sets) {
			o.Times, o.Values = append(o.Times, float64(s.Each)), append(o.Values, float64(s.Over))
		}
		if len(sets) == 0 {
			continue
		}
		utilization.Lines, overhead.Lines = append(utilization.Lines, u), append(overhead.Lines, o)
		if math.IsNaN(float64(p.Model.Latency)) || len(sets) < 2 {
			continue
		}
		least, most := u.Times[0], u.Times[len(u.Times)-1]
		model := plot.Line{Name: p.Name + ", model", Kind: plot.Straight, Of: p.Name}
		for k := range 50 {
			t := least * math.Pow(most/least, float64(k)/49)
			model.Times = append(model.Times, t)
			model.Values = append(model.Values, p.Model.Utilization(t, max(1, int(float64(r.Work)/t))))
		}
		utilization.Lines = append(utilization.Lines, model)
	}
	if len(utilization.Lines) == 0 {
		return false, nil
	}
	setting := fmt.Sprintf("%d slots, t n = %g s", r.Slots, float64(r.Work))
	if err := (plot.Series{Title: "Utilization: " + setting, XLabel: "length of a task (s)", Panels: []plot.SeriesPanel{utilization}}).WriteFiles(filepath.Join(folder, "utilization")); err != nil {
		return false, err
	}
	return true, plot.Series{Title: "Overhead: " + setting, XLabel: "tasks of a slot", Panels: []plot.SeriesPanel{overhead}}.WriteFiles(filepath.Join(folder, "overhead"))
}
