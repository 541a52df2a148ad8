package compare

import (
	_ "embed"
	"io"
)

// differences is what differs from the papers, and why: prose, since no run can
// tell it.
//
//go:embed differences.md
var differences string

// Results writes docs/results.md from several comparisons.
func Results(w io.Writer, all []*Comparison) error {
	out := &markdown{w: w}
	out.linef("# Results\n")
	out.linef("Every policy from one core each, in one simulator, on the same workloads. This page is written by `pigeon compare results`, from the comparisons whose commands it names; do not edit it.\n")
	for i, c := range all {
		if i > 0 && out.err == nil {
			out.linef("---\n")
		}
		c.describe(out)
		for cell := range c.Cells {
			c.cell(out, cell)
		}
	}
	beside(out, all)
	out.linef("%s\n%s", howToRead, differences)
	return out.err
}
