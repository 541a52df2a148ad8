package guard

import (
	"bytes"
	"encoding/gob"
	"slices"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for _, tc := range []struct {
		stat string
		want int
	}{
		{"12 (sh) S 7 12 12 0 -1", 7},
		{"12 (a) b (c) Z 9 1", 9},
		{"12 (sh) S", 0},
		{"", 0},
		{"12 (sh) S x", 0},
	} {
		if got := parseParent([]byte(tc.stat)); got != tc.want {
			t.Errorf("parent in %q is %d, want %d", tc.stat, got, tc.want)
		}
	}
	if got := parseMark([]byte("A=1\x00" + MarkVariable + "=m.7\x00B=2\x00")); got != "m.7" {
		t.Errorf("mark is %q", got)
	}
	if got := parseMark([]byte("XX" + MarkVariable + "=m.7\x00")); got != "" {
		t.Errorf("mark is %q, want none", got)
	}
}

func TestMerge(t *testing.T) {
	got := merge([]string{"A=1", "B=2", "odd"}, []string{"B=3", "C=4"}, []string{"A=5", "C=6=7"})
	if want := []string{"A=5", "B=3", "odd", "C=6=7"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func FuzzParseProc(f *testing.F) {
	f.Add([]byte("12 (a) b (c) Z 9 1"), []byte("A=1\x00"+MarkVariable+"=m.7"))
	f.Fuzz(func(t *testing.T, stat, environ []byte) {
		if parseParent(stat) < 0 {
			t.Error("a parent below 0")
		}
		if m := parseMark(environ); strings.ContainsRune(m, 0) {
			t.Error("a mark goes on beyond its end")
		}
	})
}

// FuzzReceive holds the guard's decoder to ending, whatever it reads.
func FuzzReceive(f *testing.F) {
	f.Add([]byte{0x03, 0x01, 0x02, 0x03})
	f.Fuzz(func(t *testing.T, data []byte) {
		requests := make(chan request)
		go receive(gob.NewDecoder(bytes.NewReader(data)), requests)
		for range requests { // until it gives up
		}
	})
}
