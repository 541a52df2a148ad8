// Package markdown writes reports as Markdown by templates (text/template), which are
// next to the code that fills them, in files that end in .md.tmpl.
//
// Templates have these functions in addition to those of text/template:
//
//	fixed X N        N decimals; "-" for a value that is not finite
//	significant X    three significant digits
//	microseconds S   a number of seconds in microseconds, without decimals
//	mebibytes N      a number of bytes in MiB, without decimals
//	join LIST SEP    strings.Join
//	inc N            N + 1, of an index
//
// and the template "table", of a Table.
package markdown

import (
	_ "embed"
	"fmt"
	"io"
	"reflect"
	"strings"
	"text/template"

	"github.com/pigeon-sched/pigeon/internal/measure"
)

//go:embed table.md.tmpl
var table string

// Table is a table whose first column is aligned to the left, the others to the right.
type Table struct {
	Head []string
	Rows [][]string
}

// Report is a set of templates.
type Report struct{ templates *template.Template }

// MustParse returns the report of templates that are part of the program: it panics
// when they are wrong.
func MustParse(text string) *Report {
	functions := template.FuncMap{
		// Of every floating-point type, hence by reflection.
		"fixed":        func(x reflect.Value, decimals int) string { return measure.Fixed(x.Float(), decimals) },
		"significant":  func(x reflect.Value) string { return measure.Significant(x.Float()) },
		"microseconds": func(seconds reflect.Value) string { return measure.Fixed(1e6*seconds.Float(), 0) },
		"mebibytes":    func(bytes int64) string { return measure.Fixed(float64(bytes)/(1<<20), 0) },
		"join":         strings.Join,
		"inc":          func(n int) int { return n + 1 },
	}
	return &Report{template.Must(template.Must(template.New("report").Funcs(functions).Parse(table)).Parse(text))}
}

// Write writes one of the report's templates, filled with data; "report" is what lies
// outside of all definitions.
func (r *Report) Write(out io.Writer, name string, data any) error {
	if err := r.templates.ExecuteTemplate(out, name, data); err != nil {
		return fmt.Errorf("the report is incomplete: %w", err)
	}
	return nil
}
