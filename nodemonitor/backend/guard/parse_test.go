package guard

import (
	"reflect"
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
	start, err := appendFrame(nil, &request{Op: opStart, Handle: 1, Spec: &Spec{Argv: []string{"true"}, Env: []string{"A=1"}, As: &User{UID: 1}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(start)
	f.Add(append(start, 0, 0, 0, 1, 0x90))
	f.Fuzz(func(t *testing.T, data []byte) {
		for {
			message, rest, err := cutFrame(data)
			if err != nil || message == nil {
				return
			}
			var r, again request
			if decode(&r, message) == nil {
				b, err := appendFrame(nil, &r)
				if err != nil || decode(&again, b[frameHead:]) != nil || !reflect.DeepEqual(r, again) {
					t.Fatalf("%+v was read again as %+v (%v)", r, again, err)
				}
			}
			data = rest
		}
	})
}
