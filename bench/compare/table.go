package compare

import (
	"fmt"
	"io"

	"github.com/pigeon-sched/pigeon/internal/measure"
	"github.com/pigeon-sched/pigeon/internal/text"
)

// Table prints the ratios of completion times for a terminal.
func (c *Comparison) Table(w io.Writer) error {
	t := text.NewTable(w)
	reference := c.Manifest.Policies[0]
	fmt.Fprintf(t, "trace\tload\tclass\tpolicy\tmean / %s\tp50\tp90\tp99\tmean (s)\t\n", reference)
	rows := c.Rows()
	for i := range rows {
		r := rows[i]
		if r.Of != "completion" || r.What != "mean" {
			continue
		}
		name, cell := r.Policy, &c.Cells[r.Cell].Cell
		switch r.Mode {
		case ModeLive:
			name += ", live"
		case ModeReference:
			name = "(" + name + ")"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t", TraceName(cell.Trace), cell.Label()[len("load "):], measure.ClassNames()[r.Class], name)
		for k := range measure.Statistics() {
			fmt.Fprintf(t, "%s\t", ratio(rows[i+k].Relative))
		}
		fmt.Fprintf(t, "%s\t\n", timed(r.Value))
	}
	return t.Flush()
}
