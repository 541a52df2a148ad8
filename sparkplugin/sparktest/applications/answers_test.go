package applications

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/sparkplugin/sparktest"
)

var update = flag.Bool("update", false, "write testdata/answers from what local[2] says (with -full)")

// answers are the lines in which an application prints its results.
type answers struct {
	file  string
	lines []string
}

// known reads the answers of an application.
func known(t *testing.T, name string) *answers {
	t.Helper()
	file := testdata("answers", name+".txt")
	if *update {
		return &answers{file: file}
	}
	text, err := os.ReadFile(file)
	noError(t, err)
	return &answers{file, said(string(text))}
}

// check waits for the end of an application, which must be a good one, with the answers.
func (a *answers) check(t *testing.T, d *sparktest.Driver) {
	t.Helper()
	wellEnded(t, d)
	got := said(d.Stdout())
	holds(t, "there are answers", len(got) > 0)
	if *update && a.lines == nil {
		a.lines = got
		noError(t, os.WriteFile(a.file, []byte(strings.Join(got, "\n")+"\n"), 0o644))
	}
	expected := a.lines
	if strings.Contains(d.Stdout(), "without pandas") {
		expected = withoutPandas(expected)
	}
	equal(t, expected, got)
}

// said returns the answers in the output of a program. A shell puts its prompt before them.
func said(output string) (lines []string) {
	for line := range strings.Lines(output) {
		line = strings.TrimRight(strings.TrimPrefix(line, "scala> "), "\r\n")
		if strings.HasPrefix(line, "= ") || strings.HasPrefix(line, "=\t") {
			lines = append(lines, line)
		}
	}
	return lines
}

// The wheel of PySpark brings no pandas.
func withoutPandas(lines []string) (rest []string) {
	for _, line := range lines {
		if !strings.Contains(line, "andas ") { // "pandas udf", "mapInPandas"
			rest = append(rest, line)
		}
	}
	return rest
}

func read(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		panic(err) // a file of this package
	}
	return string(text)
}
