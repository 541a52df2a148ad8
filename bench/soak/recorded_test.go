package soak

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// recorded reads the series of a run: lines of a daemon, a measure, millions of tasks and a value.
func recorded(t *testing.T, name string) map[string]map[Measure][]Point {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	series := map[string]map[Measure][]Point{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var daemon string
		var m Measure
		var p Point
		if _, err := fmt.Sscan(lines.Text(), &daemon, &m, &p.Tasks, &p.Value); err != nil {
			t.Fatalf("%q: %v", lines.Text(), err)
		}
		if series[daemon] == nil {
			series[daemon] = map[Measure][]Point{}
		}
		series[daemon][m] = append(series[daemon][m], p)
	}
	return series
}

// verdictsOf judges all series.
func verdictsOf(series map[string]map[Measure][]Point) (r Result) {
	for daemon, of := range series {
		for m, points := range of {
			r.Verdicts = append(r.Verdicts, judge(daemon, m, points))
		}
	}
	return r
}

// Nothing of a real run in which nothing grew without bound is found: every daemon's memory,
// goroutines and descriptors, while 22 nodes came and went.
func TestRecordedRunIsFlat(t *testing.T) {
	r := verdictsOf(recorded(t, "flat.txt"))
	if len(r.Verdicts) != (2+2+4)*3+2 || !r.Decided() || !r.Flat() {
		for _, v := range r.Verdicts {
			if !v.Flat {
				t.Errorf("%+v", v)
			}
		}
		t.Errorf("%d verdicts, decided: %v", len(r.Verdicts), r.Decided())
	}
}

// The leak is found, and nothing else: in this run of real daemons the frontends kept every
// job that had ended.
func TestRecordedLeakIsFound(t *testing.T) {
	r := verdictsOf(recorded(t, "leak.txt"))
	if r.Flat() || !r.Decided() {
		t.Errorf("flat: %v, decided: %v", r.Flat(), r.Decided())
	}
	for _, v := range r.Verdicts {
		if leaks := v.Measure == Memory && strings.HasPrefix(v.Daemon, "frontend-"); v.Flat == leaks {
			t.Errorf("%+v, want flat %v", v, !leaks)
		}
	}
}
