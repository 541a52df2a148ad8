package plot

import (
	"image/color"

	xfont "golang.org/x/image/font"
	gonum "gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

const (
	titleSize = 13
	labelSize = 10.5
	tickSize  = 9
	lineWidth = 1.6
)

// runColor is the colour of run i: the palette of Okabe and Ito without its
// yellow, which is faint on white, then three of Paul Tol's muted colours, and
// a grey between those of the references.
// From the twelfth run on colours repeat.
func runColor(i int) color.NRGBA {
	palette := [...]color.NRGBA{
		{0x00, 0x72, 0xb2, 0xff}, // blue
		{0xd5, 0x5e, 0x00, 0xff}, // vermilion
		{0x00, 0x9e, 0x73, 0xff}, // bluish green
		{0xe6, 0x9f, 0x00, 0xff}, // orange
		{0xcc, 0x79, 0xa7, 0xff}, // reddish purple
		{0x56, 0xb4, 0xe9, 0xff}, // sky blue
		{0x00, 0x00, 0x00, 0xff}, // black
		{0x88, 0x22, 0x55, 0xff}, // wine
		{0x99, 0x99, 0x33, 0xff}, // olive
		{0x33, 0x22, 0x88, 0xff}, // indigo
		{0x80, 0x80, 0x80, 0xff}, // grey
	}
	return palette[i%len(palette)]
}

// runLine is the line style of run i.
func runLine(i int) draw.LineStyle {
	dashes := [...][]vg.Length{nil, {6, 2.5}, {1.8, 1.8}, {7, 2, 1.8, 2}}
	return draw.LineStyle{Color: runColor(i), Width: lineWidth, Dashes: dashes[i%len(dashes)]}
}

// referenceColor is the grey of reference i; references are no runs.
func referenceColor(i int) color.NRGBA {
	greys := [...]color.NRGBA{{0xb8, 0xb8, 0xb8, 0xff}, {0x5a, 0x5a, 0x5a, 0xff}}
	return greys[i%len(greys)]
}

// referenceLine is the line style of reference i, thinner than that of a run.
func referenceLine(i int) draw.LineStyle {
	dashes := [...][]vg.Length{{4, 2}, {1.5, 2}}
	return draw.LineStyle{Color: referenceColor(i), Width: 1.2, Dashes: dashes[i%len(dashes)]}
}

func gridLine() draw.LineStyle {
	return draw.LineStyle{Color: color.Gray{0xe2}, Width: 0.6}
}

// textStyle is black sans-serif text of a size in points.
func textStyle(size float64, bold bool) text.Style {
	f := font.Font{Typeface: "Liberation", Variant: "Sans"}
	if bold {
		f.Weight = xfont.WeightBold
	}
	return text.Style{Color: color.Black, Font: font.From(f, vg.Length(size)), Handler: gonum.DefaultTextHandler}
}

// newPanel returns an empty plot in our type and with thin axes.
func newPanel(title, x, y string) *gonum.Plot {
	p := gonum.New()
	p.Title.Text = title
	p.Title.Padding = 6
	style := textStyle(labelSize, true)
	style.XAlign, style.YAlign = text.XCenter, text.YTop
	p.Title.TextStyle = style
	for _, a := range []struct {
		axis  *gonum.Axis
		label string
	}{{&p.X, x}, {&p.Y, y}} {
		a.axis.Label.Text = a.label
		a.axis.Label.TextStyle.Font = textStyle(labelSize, false).Font
		a.axis.Label.Padding = 4
		a.axis.Tick.Label.Font = textStyle(tickSize, false).Font
		a.axis.LineStyle.Width = 0.7
		a.axis.Tick.LineStyle.Width = 0.7
		a.axis.Padding = 0
	}
	return p
}
