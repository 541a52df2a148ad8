package request

import (
	"errors"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestShellWords(t *testing.T) {
	for line, want := range map[string][]string{
		"":                                      nil,
		" --name  x\t--tasks 2 ":                {"--name", "x", "--tasks", "2"},
		`--env 'A=b c' --name "it's \"so\" \x"`: {"--env", "A=b c", "--name", `it's "so" \x`},
		`a\ b\' '' c#d # e 'f`:                  {"a b'", "", "c#d"},
	} {
		if got, err := shellWords(line); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %q, %v, want %q", line, got, err, want)
		}
	}
	for _, line := range []string{"'a", `"a\"`} {
		if got, err := shellWords(line); !errors.Is(err, errOpenQuote) {
			t.Errorf("%q: %q, %v", line, got, err)
		}
	}
}

// A shell splits lines in the same way.
func TestShellWordsAsAShell(t *testing.T) {
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("there is no shell")
	}
	pieces := []string{" ", "\t", "a", "b=", "'x y'", `"x 'y"`, `"\""`, `"\\"`, `\ `, `\'`, `''`, "#c", " #c"}
	var script strings.Builder
	var want strings.Builder
	rapid.Check(t, func(t *rapid.T) {
		line := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 8).Draw(t, "line"), "")
		words, err := shellWords(line)
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		script.WriteString("set -- " + line + "\nfor w; do printf '<%s>' \"$w\"; done; echo\n")
		for _, w := range words {
			want.WriteString("<" + w + ">")
		}
		want.WriteString("\n")
	})
	got, err := exec.CommandContext(t.Context(), shell, "-c", script.String()).Output()
	if err != nil || string(got) != want.String() {
		t.Errorf("%v: the shell says\n%s\nwant\n%s", err, got, want.String())
	}
}
