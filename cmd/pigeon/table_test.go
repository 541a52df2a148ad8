package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Owners of any script leave the figures of a run where those of the others are.
func TestFiguresOfOwnersOfAnyScript(t *testing.T) {
	trace := filepath.Join(t.TempDir(), "jobs.tr")
	if err := os.WriteFile(trace, []byte("0 1 1 1 owner=夜間/花子\n1 1 1 1 owner=te\u0301le\u0301\n2 1 1 1 owner=bob\n"), 0o600); err != nil { //nolint:gosmopolitan // the same
		t.Fatal(err)
	}
	for _, argv := range [][]string{{"sim", "--trace", trace}} {
		_, text, _ := pigeon(t, argv...)
		_, owners, _ := strings.Cut(text, " owner ")
		lines := strings.Split(owners, "\n")
		if len(lines) < 4 {
			t.Fatalf("%v:\n%s", argv, text)
		}
		for _, line := range lines[1:4] {
			if got, want := shownColumns(line), shownColumns(lines[1]); got != want {
				t.Errorf("%v: a line ends in column %d, want %d:\n%s", argv, got, want, owners)
			}
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
