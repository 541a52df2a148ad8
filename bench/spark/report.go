package spark

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/pigeon-sched/pigeon/bench/measure"
)

// Row is a measure with the values of its repetitions.
type Row struct {
	Name  string
	Unit  string // "" for a ratio
	Limit *Limit // nil: told for comparison
	// Values, one of each repetition or of each driver, in the order in which they
	// were measured. The median counts, unless Of says that it is a p99 of many.
	Values []float64
	// Value counts instead of the median of Values, when it was taken over all of
	// them together; Values tell its spread then.
	Value *float64
}

// Limit is what a figure must not pass.
type Limit struct {
	Bound   float64
	AtLeast bool // it is a lower one
}

// most and least make limits.
func most(bound float64) *Limit  { return &Limit{Bound: bound} }
func least(bound float64) *Limit { return &Limit{Bound: bound, AtLeast: true} }

// Figure is the one number of the row.
func (r *Row) Figure() float64 {
	if r.Value != nil {
		return *r.Value
	}
	return measure.Percentile(slices.Sorted(slices.Values(r.Values)), 50)
}

// Met reports whether the figure is within its limit; true without one.
func (r *Row) Met() bool {
	switch f := r.Figure(); {
	case r.Limit == nil:
		return true
	case r.Limit.AtLeast:
		return f >= r.Limit.Bound
	default:
		return f <= r.Limit.Bound
	}
}

// WriteTable writes the rows as a table of Markdown.
func WriteTable(out io.Writer, rows []Row) error {
	var b strings.Builder
	b.WriteString("| measure | limit | figure | from - to | values | met |\n| --- | ---: | ---: | ---: | ---: | --- |\n")
	for i := range rows {
		r := &rows[i]
		limit, met := "", ""
		if r.Limit != nil {
			sign := "at most "
			if r.Limit.AtLeast {
				sign = "at least "
			}
			limit, met = sign+r.text(r.Limit.Bound), "no"
			if r.Met() {
				met = "yes"
			}
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %d | %s |\n", r.Name, limit, r.text(r.Figure()), r.spread(), len(r.Values), met)
	}
	_, err := io.WriteString(out, b.String()+"\n")
	return err
}

func (r *Row) spread() string {
	if len(r.Values) < 2 {
		return ""
	}
	return number(slices.Min(r.Values)) + " - " + number(slices.Max(r.Values))
}

func (r *Row) text(x float64) string {
	if r.Unit == "" {
		return number(x)
	}
	return number(x) + " " + r.Unit
}

// number writes three digits that count, and thousandths of what is about one.
func number(x float64) string {
	switch {
	case x >= 100:
		return fmt.Sprintf("%.0f", x)
	case x >= 10:
		return fmt.Sprintf("%.1f", x)
	default:
		return fmt.Sprintf("%.3f", x)
	}
}
