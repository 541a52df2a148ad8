package plot

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	gonum "gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// MaxPanels bounds the panels of a figure.
const MaxPanels = 8

const (
	panelHeight = 3.3 * vg.Inch
	margin      = 10
	sampleWidth = 26 // of a legend entry
	entryGap    = 16 // between legend entries
	pngDPI      = 150
)

// figure is common to all kinds: panels below a title and a
// legend.
type figure struct {
	title      string
	panels     []*gonum.Plot
	panelWidth vg.Length
	height     vg.Length // of a panel, 0 for panelHeight
	stacked    bool      // panels are one below the other
	legend     []entry
}

// entry is one name of the legend and how its sample is drawn.
type entry struct {
	name   string
	sample func(c draw.Canvas)
}

// styledEntry is the legend entry of a quantity drawn as a line.
func styledEntry(style draw.LineStyle, name string) entry {
	return entry{name, func(c draw.Canvas) {
		c.StrokeLine2(style, c.Min.X, c.Center().Y, c.Max.X, c.Center().Y)
	}}
}

// writeFiles writes base.svg and base.png.
func (f *figure) writeFiles(base string) error {
	if n := len(f.panels); n == 0 || n > MaxPanels {
		return fmt.Errorf("cannot draw %s: it has %d panels, 1 to %d can be drawn; no file was written", base, n, MaxPanels)
	}
	tiles := f.tiles()
	w := f.panelWidth*vg.Length(tiles.Cols) + 2*margin
	rows := f.rows(w - 2*margin)
	h := cmp.Or(f.height, panelHeight)*vg.Length(tiles.Rows) + f.header(rows)

	svg := vgsvg.NewWith(vgsvg.UseWH(w, h))
	f.draw(draw.New(svg), rows)
	png := vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(w, h), vgimg.UseDPI(pngDPI))}
	f.draw(draw.New(png), rows)
	return errors.Join(writeFile(base+".svg", fallbackFonts{svg}), writeFile(base+".png", png))
}

func (f *figure) tiles() draw.Tiles {
	t := draw.Tiles{Cols: len(f.panels), Rows: 1, PadX: 14, PadY: 14, PadBottom: margin}
	if f.stacked {
		t.Cols, t.Rows = t.Rows, t.Cols
	}
	return t
}

// fallbackFonts adds fonts of the same metrics to the SVG's only one, for
// readers who do not have it. Embedding it would make files 20 times as large.
type fallbackFonts struct{ svg io.WriterTo }

// WriteTo implements io.WriterTo.
func (f fallbackFonts) WriteTo(dst io.Writer) (int64, error) {
	var text bytes.Buffer
	if _, err := f.svg.WriteTo(&text); err != nil {
		return 0, err
	}
	n, err := dst.Write(bytes.ReplaceAll(text.Bytes(), []byte("font-family:Liberation Sans;"),
		[]byte("font-family:Liberation Sans,Arial,Helvetica,sans-serif;")))
	return int64(n), err
}

func writeFile(path string, content io.WriterTo) error {
	file, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("cannot write the figure: %w; name a folder that exists and can be written", err)
	}
	_, err = content.WriteTo(file)
	if err := errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("cannot write the figure %s: %w; it is incomplete; check the space on its disk", path, err)
	}
	return nil
}

func (f *figure) draw(c draw.Canvas, rows [][]entry) {
	title := textStyle(titleSize, true)
	title.XAlign, title.YAlign = text.XCenter, text.YTop
	c.FillText(title, vg.Point{X: c.Center().X, Y: c.Max.Y - margin}, f.title)
	f.drawLegend(c, rows)

	below := draw.Crop(c, margin, -margin, 0, -f.header(rows))
	tiles := f.tiles()
	var grid [][]*gonum.Plot
	for row := range slices.Chunk(f.panels, tiles.Cols) {
		grid = append(grid, row)
	}
	for y, row := range gonum.Align(grid, tiles, below) {
		for x, canvas := range row {
			grid[y][x].Draw(canvas)
		}
	}
}

// header is the height of title and legend.
func (f *figure) header(rows [][]entry) vg.Length {
	return margin + 1.6*titleSize + vg.Length(len(rows))*1.5*labelSize + 6
}

// rows breaks the legend into lines that fit the width.
func (f *figure) rows(width vg.Length) (rows [][]entry) {
	used := width
	for _, e := range f.legend {
		need := entryWidth(e) + entryGap
		if used+need > width+entryGap || len(rows) == 0 {
			rows, used = append(rows, nil), 0
		}
		rows[len(rows)-1] = append(rows[len(rows)-1], e)
		used += need
	}
	return rows
}

func entryWidth(e entry) vg.Length {
	return sampleWidth + 5 + textStyle(labelSize, false).Width(e.name)
}

func (f *figure) drawLegend(c draw.Canvas, rows [][]entry) {
	style := textStyle(labelSize, false)
	style.YAlign = text.YCenter
	y := c.Max.Y - margin - 1.6*titleSize - labelSize/2
	for _, row := range rows {
		width := vg.Length(-entryGap)
		for _, e := range row {
			width += entryWidth(e) + entryGap
		}
		x := c.Center().X - width/2
		for _, e := range row {
			e.sample(draw.Canvas{Canvas: c.Canvas, Rectangle: vg.Rectangle{
				Min: vg.Point{X: x, Y: y - labelSize/2}, Max: vg.Point{X: x + sampleWidth, Y: y + labelSize/2},
			}})
			c.FillText(style, vg.Point{X: x + sampleWidth + 5, Y: y}, e.name)
			x += entryWidth(e) + entryGap
		}
		y -= 1.5 * labelSize
	}
}

// names numbers runs by first appearance, so that a name has one colour; references
// are numbered apart.
type names struct{ runs, references []string }

func (n *names) index(name string) int { return indexIn(&n.runs, name) }

func (n *names) reference(name string) int { return indexIn(&n.references, name) }

func indexIn(list *[]string, name string) int {
	if i := slices.Index(*list, name); i >= 0 {
		return i
	}
	*list = append(*list, name)
	return len(*list) - 1
}
