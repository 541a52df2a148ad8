package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/pigeon-sched/pigeon/internal/text"
)

// Column is one of a table that fits a terminal.
type Column struct {
	Head   string
	Least  int // columns of a terminal to which it may be cut; 0: it is never cut
	Leaves int // columns with the lowest number above 0 are left out first where there is no room; 0: it stays
	Last   int // columns of a terminal to which it is cut when no other column may be cut or left out any more; 0: it is not
}

// FittedTable is a table that fits the width of a terminal. Elsewhere nothing is cut.
type FittedTable struct {
	Columns []Column
	Rows    [][]string
	colours []int // of the rows, for the column coloured
	Painted int   // the column that has a colour
}

// Add adds a row, whose column Painted has the colour.
func (f *FittedTable) Add(colour int, cells ...string) {
	for i := range cells {
		cells[i] = Printable(cells[i])
	}
	f.Rows, f.colours = append(f.Rows, cells), append(f.colours, colour)
}

// Write prints the table.
func (f *FittedTable) Write(out io.Writer, t Terminal) error {
	widths := f.fit(t.Width)
	var b strings.Builder
	f.line(&b, widths, t, Plain, func(i int) string { return f.Columns[i].Head })
	for r, row := range f.Rows {
		f.line(&b, widths, t, f.colours[r], func(i int) string { return row[i] })
	}
	_, err := io.WriteString(out, b.String())
	if err != nil {
		return fmt.Errorf("output could not be written: %w", err)
	}
	return nil
}

// fit returns the width of each column, 0 for one that is left out.
func (f *FittedTable) fit(width int) []int {
	widths := make([]int, len(f.Columns))
	for i, c := range f.Columns {
		widths[i] = text.Width(c.Head)
		for _, row := range f.Rows {
			widths[i] = max(widths[i], text.Width(row[i]))
		}
	}
	for width > 0 && total(widths) > width {
		if i := f.widest(widths); i >= 0 {
			widths[i] = max(widths[i]-(total(widths)-width), f.Columns[i].Least)
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
func (f *FittedTable) cutLast(widths []int, width int) {
	for i, c := range f.Columns {
		if c.Last > 0 && widths[i] > c.Last {
			widths[i] = max(widths[i]-max(0, total(widths)-width), c.Last)
		}
	}
}

// grow gives columns that were cut the room that another one has left.
func (f *FittedTable) grow(widths []int, width int) {
	for i, c := range f.Columns {
		if widths[i] == 0 || c.Least == 0 {
			continue
		}
		want := text.Width(c.Head)
		for _, row := range f.Rows {
			want = max(want, text.Width(row[i]))
		}
		widths[i] = min(want, widths[i]+max(0, width-total(widths)))
	}
}

func total(widths []int) int {
	sum := 0
	for _, w := range widths {
		if w > 0 {
			sum += w + len(text.Gap)
		}
	}
	return max(0, sum-len(text.Gap))
}

// widest returns the widest column that may still be cut, -1 for none.
func (f *FittedTable) widest(widths []int) int {
	at := -1
	for i, c := range f.Columns {
		if c.Least > 0 && widths[i] > c.Least && (at < 0 || widths[i] > widths[at]) {
			at = i
		}
	}
	return at
}

// leaving returns the column that is left out next, -1 for none.
func (f *FittedTable) leaving(widths []int) int {
	at := -1
	for i, c := range f.Columns {
		if c.Leaves > 0 && widths[i] > 0 && (at < 0 || c.Leaves < f.Columns[at].Leaves) {
			at = i
		}
	}
	return at
}

func (f *FittedTable) line(b *strings.Builder, widths []int, t Terminal, colour int, cell func(int) string) {
	last := 0
	for i, w := range widths {
		if w > 0 {
			last = i
		}
	}
	left := t.Width
	for i, w := range widths {
		if w == 0 {
			continue
		}
		if t.Width > 0 { // what cannot be cut ends at the edge
			w = min(w, left)
		}
		shown, pad := text.Shortened(cell(i), w), ""
		if i != last && (t.Width == 0 || left > w+len(text.Gap)) {
			pad = strings.Repeat(" ", max(0, w-text.Width(shown))) + text.Gap
		}
		left -= w + len(text.Gap)
		if i == f.Painted {
			shown = t.Paint(shown, colour)
		}
		b.WriteString(shown + pad)
		if t.Width > 0 && left <= 0 {
			break
		}
	}
	b.WriteByte('\n')
}
