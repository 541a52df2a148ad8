package compare

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pigeon-sched/pigeon/bench/plot"
	"github.com/pigeon-sched/pigeon/internal/measure"
)

// Figure is a pair of files, base.svg and base.png.
type Figure struct {
	Base, Caption string

	cell int // its cell, -1 for a family
}

// OfFamily reports whether the figure is one of a family of cells.
func (f Figure) OfFamily() bool { return f.cell < 0 }

// families returns the indices of the cells that share a figure of percentiles, in
// order: the cells of one trace at several loads, and of files whose names differ only in
// the number at the end, which is their load: ngo_50 and ngo_90.
func (c *Comparison) families() (groups [][]int) {
	var names []string
	for i := range c.Cells {
		name := c.Cells[i].Cell.family()
		at := slices.Index(names, name)
		if at < 0 {
			at, names, groups = len(names), append(names, name), append(groups, nil)
		}
		groups[at] = append(groups[at], i)
	}
	return groups
}

// family returns the name of the cells that share a figure with this one.
func (c *Cell) family() string {
	name := TraceName(c.Trace)
	if at := strings.LastIndexByte(name, '_'); c.Asked == 0 && at > 0 && strings.Trim(name[at+1:], "0123456789") == "" {
		return name[:at]
	}
	return name
}

// title returns the name of a family for headings; a family of one trace has its name.
func (c *Comparison) title(cells []int) string {
	first := &c.Cells[cells[0]].Cell
	for _, i := range cells {
		if c.Cells[i].Cell.Trace != first.Trace {
			return first.family()
		}
	}
	return TraceName(first.Trace)
}

// figureList lists the figures without drawing them. A figure of nothing but zeros, as of tasks
// without a duration at a delay of 0, is not there.
func (c *Comparison) figureList() (list []Figure) {
	for _, cells := range c.families() {
		title := c.title(cells)
		if len(c.percentiles(cells).Panels) > 0 {
			list = append(list, Figure{"percentiles-" + title, "Completion times on " + title + " relative to those of " + c.Manifest.Policies[0], -1})
		}
		for _, i := range cells {
			r := &c.Cells[i]
			if r.takesTime(r.allSeeds()) {
				list = append(list, Figure{r.Cell.file("completion"), "Distribution of completion times, " + r.Cell.Title(), i})
			}
			if r.takesTime(firstSeed) {
				list = append(list, Figure{r.Cell.file("time"), "Busy workers, waiting tasks and unfinished jobs over time, " + r.Cell.Title(), i})
			}
		}
	}
	return list
}

// Figures draws all figures into a folder.
func (c *Comparison) Figures(dir string) error {
	var all error
	for _, cells := range c.families() {
		if f := c.percentiles(cells); len(f.Panels) > 0 {
			all = errors.Join(all, f.WriteFiles(filepath.Join(dir, "percentiles-"+c.title(cells))))
		}
		for _, i := range cells {
			r := &c.Cells[i]
			if r.takesTime(r.allSeeds()) {
				all = errors.Join(all, r.distributions().WriteFiles(filepath.Join(dir, r.Cell.file("completion"))))
			}
			if r.takesTime(firstSeed) {
				all = errors.Join(all, r.overTime(c.Manifest.Workers).WriteFiles(filepath.Join(dir, r.Cell.file("time"))))
			}
		}
	}
	return all
}

// firstSeed is the number of seeds over which a figure over time is drawn.
const firstSeed = 1

func (r *CellResult) allSeeds() int { return len(r.Longest) }

// takesTime reports whether any job of the first seeds took any time under any policy.
func (r *CellResult) takesTime(seeds int) bool {
	return slices.ContainsFunc(r.Policies, func(p PolicyResult) bool {
		return slices.ContainsFunc(p.Results[:seeds], func(x measure.Result) bool { return x.All.Completion.Mean > 0 })
	})
}

// percentiles is the paper's figure 8 with every policy in it.
func (c *Comparison) percentiles(cells []int) plot.Bars {
	m := &c.Manifest
	f := plot.Bars{
		Title: "Completion times on " + c.title(cells) + ", relative to " + m.Policies[0],
		Runs:  append(slices.Clone(m.Policies), LongestTask, Clairvoyant), References: 2,
	}
	for class, name := range measure.ClassNames() {
		panel := plot.BarPanel{Title: name + " jobs"}
		for _, i := range cells {
			rows := c.Cells[i].rows(i, class)
			if len(rows) == 0 {
				continue
			}
			g := plot.Group{Label: c.Cells[i].Cell.Label()}
			for _, p := range []string{"p50", "p90", "p99"} {
				if _, own := completionIn(rows, m.Policies[0], p); !(own.Mean > 0) {
					continue // nothing to divide by
				}
				cluster := plot.Cluster{Label: p}
				for _, run := range f.Runs {
					_, relative := completionIn(rows, run, p)
					cluster.Values = append(cluster.Values, float64(relative.Mean))
				}
				g.Clusters = append(g.Clusters, cluster)
			}
			if len(g.Clusters) > 0 {
				panel.Groups = append(panel.Groups, g)
			}
		}
		if len(panel.Groups) > 0 {
			f.Panels = append(f.Panels, panel)
		}
	}
	return f
}

func (r *CellResult) distributions() plot.CDF {
	f := plot.CDF{Title: "Completion times, " + r.Cell.Title(), XLabel: "completion time (s)"}
	for class, name := range measure.ClassNames() {
		panel := plot.CDFPanel{Title: name + " jobs"}
		for _, p := range r.Policies {
			panel.Curves = append(panel.Curves, plot.Curve{Name: p.Policy, Values: p.curves[class]})
		}
		for _, p := range r.Policies {
			if len(p.liveCurves[class]) > 0 {
				panel.Curves = append(panel.Curves, plot.Curve{Name: p.Policy + ", live", Values: p.liveCurves[class]})
			}
		}
		for b, name := range []string{LongestTask, Clairvoyant} {
			panel.Curves = append(panel.Curves, plot.Curve{Name: name, Values: r.references.curves[b][class], Reference: true})
		}
		if slices.ContainsFunc(panel.Curves, func(c plot.Curve) bool { return len(c.Values) > 0 && slices.Max(c.Values) > 0 }) {
			f.Panels = append(f.Panels, panel)
		}
	}
	return f
}

// overTime is the figure of the quantities over time of the run with the first seed.
func (r *CellResult) overTime(workers int) plot.Series {
	f := plot.Series{Title: "Over time, " + r.Cell.Title()}
	for quantity, label := range []string{"busy of " + number(float64(workers)) + " workers", "short tasks waiting", "long tasks waiting", "short jobs unfinished", "long jobs unfinished"} {
		panel := plot.SeriesPanel{YLabel: label}
		for _, p := range r.Policies {
			panel.Lines = append(panel.Lines, line(p.Policy, p.timeline, quantity, false))
		}
		for b, name := range []string{LongestTask, Clairvoyant} {
			panel.Lines = append(panel.Lines, line(name, r.references.timelines[b], quantity, true))
		}
		toOneEnd(panel.Lines)
		if slices.ContainsFunc(panel.Lines, func(l plot.Line) bool { return slices.Max(l.Values) > 0 }) {
			f.Panels = append(f.Panels, panel)
		}
	}
	return f
}

// toOneEnd extends lines that have ended with their last value, so that a line which
// is 0 throughout is seen.
func toOneEnd(lines []plot.Line) {
	end := 0.0
	for _, l := range lines {
		end = max(end, l.Times[len(l.Times)-1])
	}
	for i := range lines {
		l := &lines[i]
		if last := len(l.Times) - 1; l.Times[last] < end {
			l.Times, l.Values = append(l.Times, end), append(l.Values, l.Values[last])
		}
	}
}

func line(name string, t *Timeline, quantity int, reference bool) plot.Line {
	times, values := t.Line(quantity)
	return plot.Line{Name: name, Times: times, Values: values, Reference: reference}
}
