package soak

// Measure is a quantity measured of a daemon.
type Measure string

// The measures.
const (
	Memory      Measure = "memory"      // bytes
	Goroutines  Measure = "goroutines"  // of the process
	Descriptors Measure = "descriptors" // open files and connections
)

// Share is how much a measure may grow in the second half, by its slope, relative to its
// median there; growth up to Least is always allowed.
const Share = 0.1

// Least returns by how much a measure may grow in any case: a few connections open and
// close with nodes, and the collector's estimate of small heaps varies.
func Least(m Measure) float64 {
	if m == Memory {
		return 4 << 20
	}
	return 20
}

// LeastPoints is how many samples the second half must have: a series that is too short for a
// verdict is not flat.
const LeastPoints = 5

// Verdict is one measure of one daemon over a run.
type Verdict struct {
	Daemon  string  `json:"daemon"`  // its name
	Measure Measure `json:"measure"` // memory, goroutines or descriptors
	Points  int     `json:"points"`  // samples in the second half
	Start   float64 `json:"start"`   // the first sample
	Middle  float64 `json:"middle"`  // the first of the second half
	End     float64 `json:"end"`     // the last sample
	Slope   float64 `json:"slope"`   // of the second half, per 1,000,000 tasks
	Growth  float64 `json:"growth"`  // of the second half, by its slope
	Bound   float64 `json:"bound"`   // of the growth
	Flat    bool    `json:"flat"`    // whether the growth is within the bound, of enough points
}

// judge decides whether a measure is flat.
func judge(daemon string, m Measure, points []Point) Verdict {
	half := secondHalf(points)
	v := Verdict{Daemon: daemon, Measure: m, Points: len(half)}
	if len(half) == 0 {
		return v // never measured
	}
	values := make([]float64, len(half))
	for i, p := range half {
		values[i] = p.Value
	}
	v.Start, v.Middle, v.End = points[0].Value, half[0].Value, half[len(half)-1].Value
	v.Slope = Slope(half)
	v.Growth = v.Slope * (half[len(half)-1].Tasks - half[0].Tasks)
	v.Bound = max(Least(m), Share*median(values))
	v.Flat = v.Growth <= v.Bound && v.Points >= LeastPoints
	return v
}
