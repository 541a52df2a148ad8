package main

import (
	"errors"
	"io"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"pgregory.net/rapid"

	"github.com/pigeon-sched/pigeon/internal/api"
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
		if err := printStatusTable(&out, jobs, terminal{width: width}, time.Unix(0, 0)); err != nil {
			t.Fatal(err)
		}
		sameColumn(t, out.String(), "STATE", string(api.StateRunning))
		for line := range strings.Lines(out.String()) {
			if n := widthOf(strings.TrimRight(line, "\n")); width > 0 && n > width {
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

// Where each character takes one column, a table is what text/tabwriter makes of it.
func TestTableIsThatOfTabwriter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOfN(rapid.RuneFrom([]rune("ab \t\t\n")), 0, 60, -1).Draw(t, "text") + "\n"
		var got, want strings.Builder
		w, reference := newTable(&got), tabwriter.NewWriter(&want, 0, 0, 2, ' ', 0)
		for _, to := range []io.Writer{w, reference} {
			if _, err := io.WriteString(to, text); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(w.Flush(), reference.Flush()); err != nil || got.String() != want.String() {
			t.Errorf("%v, %q, want %q", err, got.String(), want.String())
		}
	})
}

func TestShortened(t *testing.T) {
	for _, c := range []struct {
		text string
		most int
		want string
	}{
		{"abc", 3, "abc"}, {"abcd", 3, "ab…"}, {"abcd", 1, "…"}, {"abcd", 0, "…"},
		{"夜間", 4, "夜間"}, {"夜間", 3, "夜…"}, {"夜間", 2, "…"}, {"e\u0301e\u0301e\u0301", 3, "e\u0301e\u0301e\u0301"}, {"e\u0301e\u0301e\u0301", 2, "e\u0301…"}, //nolint:gosmopolitan // the same
	} {
		if got := shortened(c.text, c.most); got != c.want {
			t.Errorf("%q in %d columns: %q, want %q", c.text, c.most, got, c.want)
		}
	}
}
