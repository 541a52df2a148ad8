package text

import (
	"errors"
	"io"
	"strings"
	"testing"
	"text/tabwriter"

	"pgregory.net/rapid"
)

// Where each character takes one column, a table is what text/tabwriter makes of it.
func TestTableIsThatOfTabwriter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		right := rapid.Bool().Draw(t, "right")
		text := rapid.StringOfN(rapid.RuneFrom([]rune("ab \t\t\n")), 0, 60, -1).Draw(t, "text") + "\n"
		var got, want strings.Builder
		w, reference := NewTable(&got), tabwriter.NewWriter(&want, 0, 0, 2, ' ', 0)
		if right {
			w, reference = NewRightTable(&got), tabwriter.NewWriter(&want, 0, 0, 2, ' ', tabwriter.AlignRight)
		}
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
		{"夜間", 4, "夜間"}, {"夜間", 3, "夜…"}, {"夜間", 2, "…"}, {"e\u0301e\u0301e\u0301", 3, "e\u0301e\u0301e\u0301"}, {"e\u0301e\u0301e\u0301", 2, "e\u0301…"}, //nolint:gosmopolitan // wide characters are what is tested
	} {
		if got := Shortened(c.text, c.most); got != c.want {
			t.Errorf("%q in %d columns: %q, want %q", c.text, c.most, got, c.want)
		}
	}
}

// Names in any script end where the others end in a column that is aligned to the right.
func TestRightTable(t *testing.T) {
	var got strings.Builder
	table := NewRightTable(&got)
	_, _ = table.WriteString("owner\tjobs\t\n夜間\t1\t\ne\u0301\t20\t\n") //nolint:gosmopolitan // the same
	if err := table.Flush(); err != nil {
		t.Fatal(err)
	}
	if want := "  owner  jobs\n   夜間     1\n      e\u0301    20\n"; got.String() != want { //nolint:gosmopolitan // the same
		t.Errorf("%q, want %q", got.String(), want)
	}
}
