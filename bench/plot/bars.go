package plot

import (
	"fmt"
	"image/color"
	"math"

	gonum "gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Bars shows percentiles of several runs relative to one of them.
type Bars struct {
	Title string
	// Runs names the bars of a cluster.
	Runs []string
	// Reference is the index in Runs of the divisor of the others.
	Reference int
	// References is the number of Runs, at the end, that are references: they are grey.
	References int
	Panels     []BarPanel
}

// BarPanel is one class.
type BarPanel struct {
	Title  string
	Groups []Group
}

// Group is one load; its clusters are drawn together above its label.
type Group struct {
	Label    string // "load 0.9"
	Clusters []Cluster
}

// Cluster is one percentile: the times of all runs, in the order of Runs. NaN
// leaves a bar out.
type Cluster struct {
	Label  string // "p50"
	Values []float64
}

// logFrom is the ratio from which (and its inverse) a panel has a logarithmic
// axis, with bars that rise or hang from 1.
const logFrom = 6

// WriteFiles writes base.svg and base.png.
func (b Bars) WriteFiles(base string) error {
	f := figure{title: b.Title, panelWidth: b.panelWidth(), stacked: true}
	for _, panel := range b.Panels {
		p, err := b.draw(panel)
		if err != nil {
			return fmt.Errorf("cannot draw %s: %w; no file was written", base, err)
		}
		f.panels = append(f.panels, p)
	}
	for i, name := range b.Runs {
		f.legend = append(f.legend, entry{name, func(c draw.Canvas) {
			fill(c, b.color(i), c.Min.X+sampleWidth/3, c.Max.X, c.Min.Y, c.Max.Y)
		}})
	}
	return f.writeFiles(base)
}

func (b Bars) reference() string {
	if b.Reference < 0 || b.Reference >= len(b.Runs) {
		return ""
	}
	return b.Runs[b.Reference]
}

func (b Bars) color(run int) color.Color {
	if first := len(b.Runs) - b.References; run >= first {
		return referenceColor(run - first)
	}
	return runColor(run)
}

// panelWidth returns a width in which bars can be distinguished from their neighbours.
func (b Bars) panelWidth() vg.Length {
	most := 0
	for _, p := range b.Panels {
		bars := 0
		for _, g := range p.Groups {
			bars += len(g.Clusters)*(len(b.Runs)+1) + 1
		}
		most = max(most, bars)
	}
	return min(max(vg.Length(most)*7+50, 5*vg.Inch), 14*vg.Inch)
}

// draw lays the bars out on an axis on which each is 1 wide: a gap of 1
// between clusters, of 2 between groups.
func (b Bars) draw(panel BarPanel) (*gonum.Plot, error) {
	layout, err := b.layout(panel)
	if err != nil {
		return nil, err
	}
	p := newPanel(panel.Title+": time relative to "+b.reference(), "", "")
	// The quantity is named in the title: gonum reserves room for an
	// axis label at the wrong place when the axis is logarithmic.
	p.X.Tick.LineStyle.Width = 0
	p.X.Tick.Marker = layout.labels
	low, high := layout.bars.span()
	if high >= logFrom || low <= 1.0/logFrom {
		layout.bars.log = true
		p.Y.Scale, p.Y.Tick.Marker = gonum.LogScale{}, logTicks{}
		low, high = low/1.5, high*2
	} else {
		low, high = 0, high*1.15
		p.Y.Tick.Marker = niceTicks{}
	}
	p.Add(layout.bars)
	p.X.Min, p.X.Max = -1, layout.width
	p.Y.Min, p.Y.Max = low, high
	return p, nil
}

// layout holds the positions of a panel's bars and labels.
type layout struct {
	bars   bars
	labels gonum.ConstantTicks
	width  float64
}

func (b Bars) layout(panel BarPanel) (layout, error) {
	var l layout
	for _, g := range panel.Groups {
		start := l.width
		for _, c := range g.Clusters {
			if len(c.Values) != len(b.Runs) || b.reference() == "" {
				return l, fmt.Errorf("panel %q, %s %s has %d values for %d runs with reference %d", panel.Title, g.Label, c.Label, len(c.Values), len(b.Runs), b.Reference)
			}
			reference := c.Values[b.Reference]
			if !(reference > 0) || !finite(reference) {
				return l, fmt.Errorf("panel %q, %s %s has no reference above 0 to divide by", panel.Title, g.Label, c.Label)
			}
			l.labels = append(l.labels, gonum.Tick{Value: l.width + float64(len(b.Runs)-1)/2, Label: c.Label})
			for run, v := range c.Values {
				if v > 0 && finite(v) {
					l.bars.items = append(l.bars.items, bar{x: l.width + float64(run), ratio: v / reference, color: b.color(run)})
				}
			}
			l.width += float64(len(b.Runs)) + 1
		}
		l.labels = append(l.labels, gonum.Tick{Value: (start + l.width - 2) / 2, Label: "\n" + g.Label})
		l.width++
	}
	if len(l.bars.items) == 0 {
		return l, fmt.Errorf("panel %q has no bar", panel.Title)
	}
	l.width -= 1.5
	return l, nil
}

func (b bars) span() (low, high float64) {
	low, high = 1, 1
	for _, i := range b.items {
		low, high = math.Min(low, i.ratio), math.Max(high, i.ratio)
	}
	return low, high
}
