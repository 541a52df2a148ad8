package cli

import (
	"io"

	"github.com/pigeon-sched/pigeon/internal/text"
)

// Table prints nothing that a terminal would obey.
type Table struct{ *text.Table }

// NewTable returns a table for a terminal, its columns aligned to the left.
func NewTable(out io.Writer) *Table { return &Table{text.NewTable(out)} }

// Write adds text; it never fails.
func (t *Table) Write(text []byte) (int, error) {
	if _, err := t.WriteString(PrintableLines(string(text))); err != nil {
		return 0, err
	}
	return len(text), nil
}

// Painted adds text that may have colours, for the last cell of a line.
func (t *Table) Painted(text string) {
	_, _ = t.WriteString(text) // it never fails
}
