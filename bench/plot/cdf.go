package plot

import (
	"fmt"
	"slices"

	gonum "gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// CDF shows cumulative distributions on a logarithmic axis.
type CDF struct {
	Title string
	// XLabel is the quantity and its unit: "completion time (s)".
	XLabel string
	Panels []CDFPanel
}

// CDFPanel is one class or one load.
type CDFPanel struct {
	Title  string
	Curves []Curve
}

// Curve is the sample of one run, in any order. Values that are 0 or less
// count, and are drawn at the smallest positive value of the panel.
type Curve struct {
	Name   string
	Values []float64
	// Reference reports whether the curve is a reference, which is grey.
	Reference bool
}

// maxSteps bounds the points of a curve: a curve of more values shows its
// quantiles at this many places, which differ from it by less than a pixel.
const maxSteps = 400

// WriteFiles writes base.svg and base.png.
func (c CDF) WriteFiles(base string) error {
	f := figure{title: c.Title, panelWidth: 4.2 * vg.Inch}
	var runs names
	for i, panel := range c.Panels {
		yLabel := ""
		if i == 0 {
			yLabel = "share of jobs"
		}
		p, err := panel.draw(c.XLabel, yLabel, &runs)
		if err != nil {
			return fmt.Errorf("cannot draw %s: %w; no file was written", base, err)
		}
		f.panels = append(f.panels, p)
	}
	for i, name := range runs.runs {
		f.legend = append(f.legend, styledEntry(runLine(i), name))
	}
	for i, name := range runs.references {
		f.legend = append(f.legend, styledEntry(referenceLine(i), name))
	}
	return f.writeFiles(base)
}

func (c CDFPanel) draw(xLabel, yLabel string, runs *names) (*gonum.Plot, error) {
	p := newPanel(c.Title, xLabel, yLabel)
	p.X.Scale, p.X.Tick.Marker = gonum.LogScale{}, logTicks{}
	p.Y.Tick.Marker = fixedTicks(0, 0.25, 0.5, 0.75, 0.9, 1)
	least := leastPositive(c.Curves)
	if least == 0 {
		return nil, fmt.Errorf("panel %q has no value above 0 for its logarithmic axis", c.Title)
	}
	grid := plotter.NewGrid()
	grid.Horizontal, grid.Vertical = gridLine(), gridLine()
	p.Add(grid)
	for _, curve := range c.Curves {
		if len(curve.Values) == 0 {
			continue
		}
		if !slices.ContainsFunc(curve.Values, finite) || slices.ContainsFunc(curve.Values, func(x float64) bool { return !finite(x) }) {
			return nil, fmt.Errorf("curve %q of panel %q holds a value that is not finite", curve.Name, c.Title)
		}
		p.Add(&plotter.Line{XYs: steps(curve.Values, least), LineStyle: curve.style(runs)})
	}
	p.Y.Min, p.Y.Max = 0, 1
	if p.X.Max <= p.X.Min { // one value only
		p.X.Min, p.X.Max = p.X.Min/2, p.X.Max*2
	}
	return p, nil
}

func (c Curve) style(runs *names) draw.LineStyle {
	if c.Reference {
		return referenceLine(runs.reference(c.Name))
	}
	return runLine(runs.index(c.Name))
}

func leastPositive(curves []Curve) float64 {
	least := 0.0
	for _, curve := range curves {
		for _, x := range curve.Values {
			if x > 0 && finite(x) && (least == 0 || x < least) {
				least = x
			}
		}
	}
	return least
}

// steps are the points of the empirical distribution function.
func steps(values []float64, least float64) plotter.XYs {
	sorted := slices.Clone(values)
	slices.Sort(sorted)
	n := len(sorted)
	count := min(n, maxSteps)
	points := make(plotter.XYs, 0, 2*count+1)
	below := 0.0
	for i := 1; i <= count; i++ {
		rank := i * n / count // 1 to n
		x := max(sorted[rank-1], least)
		share := float64(rank) / float64(n)
		points = append(points, plotter.XY{X: x, Y: below}, plotter.XY{X: x, Y: share})
		below = share
	}
	return points
}
