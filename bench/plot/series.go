package plot

import (
	"fmt"
	"image/color"
	"slices"

	gonum "gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Series shows quantities over time, or over something else that XLabel names.
type Series struct {
	Title string
	// XLabel is "time (s)" by default.
	XLabel string
	Panels []SeriesPanel // one below the other
}

// SeriesPanel is one quantity.
type SeriesPanel struct {
	Title string
	// YLabel names the quantity and its unit: "busy workers".
	YLabel string
	Lines  []Line
}

// Kind is how a line is drawn.
type Kind int

// The kinds.
const (
	Steps    Kind = iota // each value holds until the next
	Straight             // values are joined
	Marks                // values are not joined
)

// Line is one run: Values[i] holds from Times[i] (seconds, ascending) on.
type Line struct {
	Name          string
	Times, Values []float64
	Kind          Kind
	// Reference reports whether the line is a reference, which is grey.
	Reference bool
	// Of, if set, is the line whose colour this one shares.
	Of string
}

// WriteFiles writes base.svg and base.png.
func (s Series) WriteFiles(base string) error {
	if s.XLabel == "" {
		s.XLabel = "time (s)"
	}
	f := figure{title: s.Title, panelWidth: 7.2 * vg.Inch, stacked: true}
	if len(s.Panels) > 1 {
		f.height = 2.1 * vg.Inch
	}
	var runs names
	var shown []string
	for i, panel := range s.Panels {
		xLabel := ""
		if i == len(s.Panels)-1 {
			xLabel = s.XLabel
		}
		p, err := panel.draw(xLabel, &runs)
		if err != nil {
			return fmt.Errorf("cannot draw %s: %w; no file was written", base, err)
		}
		f.panels = append(f.panels, p)
		for _, l := range panel.Lines {
			if !slices.Contains(shown, l.Name) {
				shown = append(shown, l.Name)
				f.legend = append(f.legend, l.entry(&runs))
			}
		}
	}
	sameTimes(f.panels)
	return f.writeFiles(base)
}

// sameTimes sets one range of times for all panels, so that they can be read
// downwards.
func sameTimes(panels []*gonum.Plot) {
	for _, p := range panels {
		panels[0].X.Min, panels[0].X.Max = min(panels[0].X.Min, p.X.Min), max(panels[0].X.Max, p.X.Max)
	}
	for _, p := range panels {
		p.X.Min, p.X.Max = panels[0].X.Min, panels[0].X.Max
	}
}

func (s SeriesPanel) draw(xLabel string, runs *names) (*gonum.Plot, error) {
	p := newPanel(s.Title, xLabel, s.YLabel)
	p.X.Tick.Marker, p.Y.Tick.Marker = niceTicks{}, niceTicks{}
	grid := plotter.NewGrid()
	grid.Horizontal, grid.Vertical = gridLine(), gridLine()
	p.Add(grid)
	if len(s.Lines) == 0 {
		return nil, fmt.Errorf("panel %q has no line", s.Title)
	}
	for _, l := range s.Lines {
		if err := l.check(); err != nil {
			return nil, err
		}
		p.Add(l.plotter(runs))
	}
	p.Y.Min = min(p.Y.Min, 0)
	p.Y.Max += (p.Y.Max - p.Y.Min) * 0.04
	if p.Y.Max == p.Y.Min {
		p.Y.Max++
	}
	return p, nil
}

func (l Line) plotter(runs *names) gonum.Plotter {
	style := l.style(runs)
	if l.Kind == Marks {
		return &plotter.Scatter{XYs: l.points(), GlyphStyle: mark(style.Color)}
	}
	line := &plotter.Line{XYs: l.points(), LineStyle: style}
	if l.Kind == Steps {
		line.StepStyle, line.Width = plotter.PostStep, 1.1
	}
	return line
}

func (l Line) style(runs *names) draw.LineStyle {
	switch {
	case l.Reference:
		return referenceLine(runs.reference(l.Name))
	case l.Of != "":
		return runLine(runs.index(l.Of))
	}
	return runLine(runs.index(l.Name))
}

func (l Line) entry(runs *names) entry {
	style := l.style(runs)
	if l.Kind != Marks {
		return styledEntry(style, l.Name)
	}
	return entry{l.Name, func(c draw.Canvas) { c.DrawGlyph(mark(style.Color), c.Center()) }}
}

func mark(c color.Color) draw.GlyphStyle {
	return draw.GlyphStyle{Color: c, Radius: 3, Shape: draw.CircleGlyph{}}
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
