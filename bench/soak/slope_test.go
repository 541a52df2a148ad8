package soak

import (
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// line has n points, a million tasks apart, on a line with one outlier.
func line(n int, start, slope float64) (points []Point) {
	for i := range n {
		points = append(points, Point{float64(i), start + slope*float64(i)})
	}
	points[n-2].Value *= 50
	return points
}

func TestSlopeIgnoresOutliers(t *testing.T) {
	if got := Slope(line(20, 100, 3)); math.Abs(got-3) > 1e-9 {
		t.Errorf("slope %v, want 3", got)
	}
	if got := Slope([]Point{{1, 5}, {1, 9}}); got != 0 {
		t.Errorf("slope %v of points at one place, want 0", got)
	}
}

func TestVerdicts(t *testing.T) {
	const mib = 1 << 20
	for _, c := range []struct {
		name    string
		measure Measure
		points  []Point
		flat    bool
	}{
		{"a constant", Memory, line(20, 50*mib, 0), true},
		{"a byte a task", Memory, line(20, 5*mib, 1e6), false},
		{"less than the least", Memory, line(20, 5*mib, 0.3*mib), true},
		{"a tenth of much", Memory, line(20, 900*mib, 5*mib), true},
		{"more than a tenth of much", Memory, line(20, 900*mib, 12*mib), false},
		{"it shrinks", Memory, line(20, 50*mib, -2*mib), true},
		{"a goroutine for each hundred thousand tasks", Goroutines, line(20, 50, 10), false},
		{"some goroutines", Goroutines, line(20, 50, 1), true},
		{"growth in the first half only", Descriptors, append(line(20, 10, 100)[:18], Point{40, 1800}, Point{50, 1800}, Point{60, 1800}, Point{70, 1800}, Point{80, 1800}), true},
		{"never measured", Descriptors, nil, false},
		{"too short to tell", Memory, make([]Point, LeastPoints-1), false},
		{"just long enough", Memory, make([]Point, LeastPoints), true},
	} {
		if got := judge("d", c.measure, c.points); got.Flat != c.flat {
			t.Errorf("%s: flat %v, growth %v, bound %v", c.name, got.Flat, got.Growth, got.Bound)
		}
	}
}

func TestPageIsRead(t *testing.T) {
	const page = "# HELP go_goroutines x\ngo_goroutines 41\ngo_memstats_next_gc_bytes 8.4e+06\nprocess_open_fds 17\npigeon_frontend_journal_memory_bytes 1e+06\nother{a=\"b\"} 3\n"
	for onHeap, memory := range map[bool]float64{true: 3.2e6, false: 4.2e6} {
		got, err := readPage(page, onHeap)
		if err != nil || got != (sample{Memory: memory, Goroutines: 41, Descriptors: 17}) {
			t.Errorf("with the store on the heap (%v): %+v, %v", onHeap, got, err)
		}
	}
	for _, name := range []string{"go_goroutines", "go_memstats_next_gc_bytes", "process_open_fds"} {
		if got, err := readPage(strings.ReplaceAll(page, name, "renamed"), true); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("a page without %s was read as %+v, %v", name, got, err)
		}
	}
}

// TestPagesThatAreNoMetrics: what another server answers in place of a daemon is no sample.
func TestPagesThatAreNoMetrics(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	d := daemon{name: "master-0", http: strings.TrimPrefix(server.URL, "http://")}
	if got, err := d.read(t.Context()); err == nil || !strings.Contains(err.Error(), "master-0: it answered 404") {
		t.Errorf("%+v, %v", got, err)
	}
}
