package main

import (
	"io"

	"github.com/pigeon-sched/pigeon/internal/textcolumns"
)

// table is one of which nothing is printed that a terminal would obey.
type table struct{ *textcolumns.Table }

// newTable returns a table for a terminal, its columns aligned to the left.
func newTable(out io.Writer) *table { return &table{textcolumns.NewTable(out)} }

// Write adds text; it never fails.
func (t *table) Write(text []byte) (int, error) {
	if _, err := t.WriteString(printableLines(string(text))); err != nil {
		return 0, err
	}
	return len(text), nil
}

// painted adds text that may have colours, for the last cell of a line.
func (t *table) painted(text string) {
	_, _ = t.WriteString(text) // it never fails
}
