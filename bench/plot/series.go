package plot

import (
	"fmt"
	"slices"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
)

// Series shows quantities over time.
type Series struct {
	Title string
	// YLabel names the quantity and its unit: "busy workers".
	YLabel string
	Lines  []Line
}

// Line is one run: Values[i] holds from Times[i] (seconds, ascending) on.
type Line struct {
	Name          string
	Times, Values []float64
}

// WriteFiles writes base.svg and base.png.
func (s Series) WriteFiles(base string) error {
	p := newPanel("", "time (s)", s.YLabel)
	p.X.Tick.Marker, p.Y.Tick.Marker = niceTicks{}, niceTicks{}
	grid := plotter.NewGrid()
	grid.Horizontal, grid.Vertical = gridLine(), gridLine()
	p.Add(grid)
	f := figure{title: s.Title, panelWidth: 7.2 * vg.Inch}
	for i, l := range s.Lines {
		if err := l.check(); err != nil {
			return fmt.Errorf("cannot draw %s: %w; no file was written", base, err)
		}
		line := &plotter.Line{XYs: l.points(), LineStyle: runLine(i), StepStyle: plotter.PostStep}
		line.Width = 1.1
		p.Add(line)
		f.legend = append(f.legend, lineEntry(i, l.Name))
	}
	if len(s.Lines) > 0 {
		f.panels = append(f.panels, p)
	}
	p.Y.Min = min(p.Y.Min, 0)
	p.Y.Max += (p.Y.Max - p.Y.Min) * 0.04
	if p.Y.Max == p.Y.Min {
		p.Y.Max++
	}
	return f.writeFiles(base)
}

// maxPoints bounds the points of a line; one of more values shows their means
// over this many equal spans of time.
const maxPoints = 2000

func (l Line) points() plotter.XYs {
	n := len(l.Times)
	first, span := l.Times[0], l.Times[n-1]-l.Times[0]
	if n <= maxPoints || span == 0 {
		points := make(plotter.XYs, n)
		for k := range points {
			points[k] = plotter.XY{X: l.Times[k], Y: l.Values[k]}
		}
		return points
	}
	points := make(plotter.XYs, maxPoints)
	width, k := span/maxPoints, 0
	for i := range points {
		from := first + float64(i)*width
		area := 0.0
		for at := from; at < from+width; {
			for k+1 < n && l.Times[k+1] <= at {
				k++
			}
			until := from + width
			if k+1 < n {
				until = min(until, l.Times[k+1])
			}
			area += l.Values[k] * (until - at)
			at = until
		}
		points[i] = plotter.XY{X: from, Y: area / width}
	}
	return points
}

func (l Line) check() error {
	notFinite := func(x float64) bool { return !finite(x) }
	switch {
	case len(l.Times) == 0 || len(l.Times) != len(l.Values):
		return fmt.Errorf("line %q has %d times and %d values; it needs as many of each, and one at least", l.Name, len(l.Times), len(l.Values))
	case slices.ContainsFunc(l.Times, notFinite) || slices.ContainsFunc(l.Values, notFinite):
		return fmt.Errorf("line %q holds a value that is not finite", l.Name)
	case !slices.IsSorted(l.Times):
		return fmt.Errorf("line %q goes back in time", l.Name)
	}
	return nil
}
