package plot

import (
	"image/color"
	"math"
	"strconv"

	gonum "gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// bar is one bar, 1 wide around x.
type bar struct {
	x, ratio float64
	color    color.Color
}

// bars draws ratios: from 0 on a linear axis, from 1 on a logarithmic one,
// with a line at 1 and the value written at each bar's end.
type bars struct {
	items []bar
	log   bool
}

// Plot implements gonum's plot.Plotter.
func (b bars) Plot(c draw.Canvas, p *gonum.Plot) {
	x, y := p.Transforms(&c)
	for _, tick := range p.Y.Tick.Marker.Ticks(p.Y.Min, p.Y.Max) {
		if tick.Label != "" && tick.Value >= p.Y.Min && tick.Value <= p.Y.Max {
			c.StrokeLine2(gridLine(), c.Min.X, y(tick.Value), c.Max.X, y(tick.Value))
		}
	}
	foot := y(p.Y.Min)
	if b.log {
		foot = y(1)
	}
	label := textStyle(6.5, false)
	label.YAlign, label.Rotation = text.YCenter, math.Pi/2
	for _, i := range b.items {
		end := y(i.ratio)
		fill(c, i.color, x(i.x-0.45), x(i.x+0.45), min(foot, end), max(foot, end))
		at := vg.Point{X: x(i.x), Y: max(foot, end) + 2}
		c.FillText(label, at, strconv.FormatFloat(i.ratio, 'g', significant(i.ratio), 64))
	}
	c.StrokeLine2(draw.LineStyle{Color: color.Gray{0x40}, Width: 0.8}, c.Min.X, y(1), c.Max.X, y(1))
}

// significant digits for a label: two decimals at most, no exponent.
func significant(x float64) int {
	return max(2, 1+int(math.Floor(math.Log10(max(x, 1e-3)))))
}

func fill(c draw.Canvas, color color.Color, x0, x1, y0, y1 vg.Length) {
	c.FillPolygon(color, []vg.Point{{X: x0, Y: y0}, {X: x1, Y: y0}, {X: x1, Y: y1}, {X: x0, Y: y1}})
}
