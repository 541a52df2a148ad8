package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/pigeon-sched/pigeon/internal/textcolumns"
)

// column is one of a table that fits a terminal.
type column struct {
	head   string
	least  int // columns of a terminal to which it may be cut; 0: it is never cut
	leaves int // columns with the lowest number above 0 are left out first where there is no room; 0: it stays
	last   int // columns of a terminal to which it is cut when no other column may be cut or left out any more; 0: it is not
}

// fitted is a table that fits the width of a terminal. Elsewhere nothing is cut.
type fitted struct {
	columns []column
	rows    [][]string
	colours []int // of the rows, for the column coloured
	painted int   // the column that has a colour
}

func (f *fitted) add(colour int, cells ...string) {
	for i := range cells {
		cells[i] = printable(cells[i])
	}
	f.rows, f.colours = append(f.rows, cells), append(f.colours, colour)
}

// write prints the table.
func (f *fitted) write(out io.Writer, t terminal) error {
	widths := f.fit(t.width)
	var b strings.Builder
	f.line(&b, widths, t, plain, func(i int) string { return f.columns[i].head })
	for r, row := range f.rows {
		f.line(&b, widths, t, f.colours[r], func(i int) string { return row[i] })
	}
	_, err := io.WriteString(out, b.String())
	if err != nil {
		return fmt.Errorf("output could not be written: %w", err)
	}
	return nil
}

// fit returns the width of each column, 0 for one that is left out.
func (f *fitted) fit(width int) []int {
	widths := make([]int, len(f.columns))
	for i, c := range f.columns {
		widths[i] = textcolumns.Width(c.head)
		for _, row := range f.rows {
			widths[i] = max(widths[i], textcolumns.Width(row[i]))
		}
	}
	for width > 0 && total(widths) > width {
		if i := f.widest(widths); i >= 0 {
			widths[i] = max(widths[i]-(total(widths)-width), f.columns[i].least)
			continue
		}
		i := f.leaving(widths)
		if i < 0 {
			f.cutLast(widths, width)
			break
		}
		widths[i] = 0
		f.grow(widths, width)
	}
	return widths
}

// cutLast cuts what is cut last, so that it does not hide the columns behind it.
func (f *fitted) cutLast(widths []int, width int) {
	for i, c := range f.columns {
		if c.last > 0 && widths[i] > c.last {
			widths[i] = max(widths[i]-max(0, total(widths)-width), c.last)
		}
	}
}

// grow gives columns that were cut the room that another one has left.
func (f *fitted) grow(widths []int, width int) {
	for i, c := range f.columns {
		if widths[i] == 0 || c.least == 0 {
			continue
		}
		want := textcolumns.Width(c.head)
		for _, row := range f.rows {
			want = max(want, textcolumns.Width(row[i]))
		}
		widths[i] = min(want, widths[i]+max(0, width-total(widths)))
	}
}

func total(widths []int) int {
	sum := 0
	for _, w := range widths {
		if w > 0 {
			sum += w + len(textcolumns.Gap)
		}
	}
	return max(0, sum-len(textcolumns.Gap))
}

// widest returns the widest column that may still be cut, -1 for none.
func (f *fitted) widest(widths []int) int {
	at := -1
	for i, c := range f.columns {
		if c.least > 0 && widths[i] > c.least && (at < 0 || widths[i] > widths[at]) {
			at = i
		}
	}
	return at
}

// leaving returns the column that is left out next, -1 for none.
func (f *fitted) leaving(widths []int) int {
	at := -1
	for i, c := range f.columns {
		if c.leaves > 0 && widths[i] > 0 && (at < 0 || c.leaves < f.columns[at].leaves) {
			at = i
		}
	}
	return at
}

func (f *fitted) line(b *strings.Builder, widths []int, t terminal, colour int, cell func(int) string) {
	last := 0
	for i, w := range widths {
		if w > 0 {
			last = i
		}
	}
	left := t.width
	for i, w := range widths {
		if w == 0 {
			continue
		}
		if t.width > 0 { // what cannot be cut ends at the edge
			w = min(w, left)
		}
		text, pad := textcolumns.Shortened(cell(i), w), ""
		if i != last && (t.width == 0 || left > w+len(textcolumns.Gap)) {
			pad = strings.Repeat(" ", max(0, w-textcolumns.Width(text))) + textcolumns.Gap
		}
		left -= w + len(textcolumns.Gap)
		if i == f.painted {
			text = t.paint(text, colour)
		}
		b.WriteString(text + pad)
		if t.width > 0 && left <= 0 {
			break
		}
	}
	b.WriteByte('\n')
}
