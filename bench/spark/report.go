package spark

import (
	_ "embed"
	"fmt"
	"io"
	"slices"

	"github.com/pigeon-sched/pigeon/bench/markdown"
	"github.com/pigeon-sched/pigeon/internal/measure"
)

// Row is a measure with the values of its repetitions.
type Row struct {
	Name  string
	Unit  string // "" for a ratio
	Limit *Limit // nil: only for comparison
	// Values, one of each repetition or of each driver, in the order in which they
	// were measured. The median is the row's figure.
	Values []float64
	// Value, if set, is the row's figure: it was taken over all repetitions together,
	// and Values are its spread.
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
func (r Row) Figure() float64 {
	if r.Value != nil {
		return *r.Value
	}
	return measure.Percentile(slices.Sorted(slices.Values(r.Values)), 50)
}

// Met reports whether the figure is within its limit; true without one.
func (r Row) Met() bool {
	switch f := r.Figure(); {
	case r.Limit == nil:
		return true
	case r.Limit.AtLeast:
		return f >= r.Limit.Bound
	default:
		return f <= r.Limit.Bound
	}
}

//go:embed table.md.tmpl
var tableTemplate string

var table = markdown.MustParse(tableTemplate)

// WriteTable writes the rows as a table of Markdown.
func WriteTable(out io.Writer, rows []Row) error { return table.Write(out, "report", rows) }

// LimitText returns the limit in words, "" without one.
func (r Row) LimitText() string {
	switch {
	case r.Limit == nil:
		return ""
	case r.Limit.AtLeast:
		return "at least " + r.Text(r.Limit.Bound)
	}
	return "at most " + r.Text(r.Limit.Bound)
}

// Spread returns the least and the greatest value, "" for a single one.
func (r Row) Spread() string {
	if len(r.Values) < 2 {
		return ""
	}
	return number(slices.Min(r.Values)) + " - " + number(slices.Max(r.Values))
}

// Text returns a number with the row's unit.
func (r Row) Text(x float64) string {
	if r.Unit == "" {
		return number(x)
	}
	return number(x) + " " + r.Unit
}

// number returns three significant digits, and thousandths below ten.
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

// percentile returns that of a sample in any order.
func percentile(sample []float64, p float64) float64 {
	return measure.Percentile(slices.Sorted(slices.Values(sample)), p)
}
