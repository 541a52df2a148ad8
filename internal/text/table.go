package text

import (
	"fmt"
	"io"
	"strings"
)

// Gap separates two columns.
const Gap = "  "

// Table is lines of cells with a tab after each but the last of a line. A column is as wide as its
// widest cell in consecutive lines that have it, as in text/tabwriter, which counts characters and
// not what a terminal shows of them.
type Table struct {
	out   io.Writer
	right bool
	text  strings.Builder
}

// NewTable returns a table for a terminal, its columns aligned to the left.
func NewTable(out io.Writer) *Table { return &Table{out: out} }

// NewRightTable returns a table for a terminal, its columns aligned to the right.
func NewRightTable(out io.Writer) *Table { return &Table{out: out, right: true} }

// Write adds text; it never fails.
func (t *Table) Write(text []byte) (int, error) { return t.text.Write(text) }

// WriteString adds text; it never fails.
func (t *Table) WriteString(text string) (int, error) { return t.text.WriteString(text) }

// Flush prints the lines.
func (t *Table) Flush() error {
	var lines [][]string
	for line := range strings.Lines(t.text.String()) {
		lines = append(lines, strings.Split(line, "\t"))
	}
	t.text.Reset()
	t.align(lines, 0)
	var b strings.Builder
	for _, cells := range lines {
		b.WriteString(strings.Join(cells, ""))
	}
	if _, err := io.WriteString(t.out, b.String()); err != nil {
		return fmt.Errorf("output could not be written: %w", err)
	}
	return nil
}

// align pads the cells of a column and of those behind it.
func (t *Table) align(lines [][]string, column int) {
	has := func(i int) bool { return i < len(lines) && column < len(lines[i])-1 }
	for from := 0; from < len(lines); from++ {
		to, width := from, 0
		for ; has(to); to++ {
			width = max(width, Width(lines[to][column]))
		}
		if to == from {
			continue
		}
		block := lines[from:to]
		for _, cells := range block {
			pad := strings.Repeat(" ", width-Width(cells[column])) + Gap
			if t.right {
				cells[column] = pad + cells[column]
			} else {
				cells[column] += pad
			}
		}
		t.align(block, column+1)
		from = to
	}
}
