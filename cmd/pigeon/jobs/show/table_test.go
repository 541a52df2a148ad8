package show

import (
	"strings"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/cli"
	"github.com/pigeon-sched/pigeon/internal/text"
)

// Names in any script leave the columns behind them where the head has them: a terminal shows a
// Chinese character in two columns, and an accent over the letter before it.
func TestTablesAlignNamesOfAnyScript(t *testing.T) {
	var out strings.Builder
	list := []api.JobUsage{
		{Job: "夜間集計", Owner: "チーム/花子", Name: "ascii", State: api.StateFailed}, //nolint:gosmopolitan // wide characters are what is tested
		{Job: "job", Owner: "te\u0301le\u0301", Name: "집계", State: api.StateFailed},
		{Job: "evil\x1b[2J", Owner: "bob", Name: "x", State: api.StateFailed},
	}
	if err := printUsages(&out, list); err != nil {
		t.Fatal(err)
	}
	sameColumn(t, out.String(), "STATE", string(api.StateFailed))

	out.Reset()
	jobs := []api.Status{
		{Job: "夜間集計", Name: "月末の売上を集計する長い名前の仕事", Owner: "チーム/花子", State: api.StateRunning}, //nolint:gosmopolitan // the same
		{Job: "job", Name: "te\u0301le\u0301", Owner: "bob", State: api.StateRunning},
	}
	for _, width := range []int{0, 150, 81, 80, 60} {
		out.Reset()
		if err := printStatusTable(&out, jobs, cli.Terminal{Width: width}, time.Unix(0, 0)); err != nil {
			t.Fatal(err)
		}
		sameColumn(t, out.String(), "STATE", string(api.StateRunning))
		for line := range strings.Lines(out.String()) {
			if n := text.Width(strings.TrimRight(line, "\n")); width > 0 && n > width {
				t.Errorf("%d wide: a line takes %d columns: %q", width, n, line)
			}
		}
	}
}

// sameColumn checks that a word begins below a head in all lines of a table.
func sameColumn(t *testing.T, text, head, word string) {
	t.Helper()
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	want := shownColumns(lines[0][:strings.Index(lines[0], head)])
	for _, line := range lines[1:] {
		before, _, found := strings.Cut(line, word)
		if got := shownColumns(before); !found || got != want {
			t.Errorf("%q begins in column %d, want %d as %q:\n%s", word, got, want, head, text)
		}
	}
}

// shownColumns counts by the scripts of these tests.
func shownColumns(text string) int {
	columns := 0
	for _, r := range text {
		switch {
		case r == '\u0301':
		case r >= 0x3000:
			columns += 2
		default:
			columns++
		}
	}
	return columns
}
