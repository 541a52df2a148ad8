package main

import (
	"fmt"
	"io"
	"strings"
)

// table is lines of cells with a tab after each but the last of a line. A column is as wide as its
// widest cell in consecutive lines that have it, as in text/tabwriter, which counts characters and
// not what a terminal shows of them. What a terminal would obey is not printed.
type table struct {
	out  io.Writer
	text strings.Builder
}

// newTable returns a table for a terminal, its columns aligned to the left.
func newTable(out io.Writer) *table { return &table{out: out} }

// Write adds text; it never fails.
func (t *table) Write(text []byte) (int, error) {
	t.text.WriteString(printableLines(string(text)))
	return len(text), nil
}

// painted adds text that may have colours, for the last cell of a line.
func (t *table) painted(text string) { t.text.WriteString(text) }

// Flush prints the lines.
func (t *table) Flush() error {
	var lines [][]string
	for line := range strings.Lines(t.text.String()) {
		lines = append(lines, strings.Split(line, "\t"))
	}
	t.text.Reset()
	alignColumn(lines, 0)
	var b strings.Builder
	for _, cells := range lines {
		b.WriteString(strings.Join(cells, ""))
	}
	if _, err := io.WriteString(t.out, b.String()); err != nil {
		return fmt.Errorf("output could not be written: %w", err)
	}
	return nil
}

// alignColumn pads the cells of a column and of those behind it.
func alignColumn(lines [][]string, column int) {
	has := func(i int) bool { return i < len(lines) && column < len(lines[i])-1 }
	for from := 0; from < len(lines); from++ {
		to, width := from, 0
		for ; has(to); to++ {
			width = max(width, widthOf(lines[to][column]))
		}
		if to == from {
			continue
		}
		block := lines[from:to]
		for _, cells := range block {
			cells[column] += strings.Repeat(" ", width-widthOf(cells[column])) + columnGap
		}
		alignColumn(block, column+1)
		from = to
	}
}
