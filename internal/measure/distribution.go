package measure

import (
	"math"
	"slices"
	"strconv"
)

// Number is a figure that may be missing: NaN (or an infinity) in Go, null in
// JSON.
type Number float64

// Missing is the Number of nothing.
func Missing() Number { return Number(math.NaN()) }

// MarshalJSON writes null for a number that is not finite.
func (n Number) MarshalJSON() ([]byte, error) {
	if math.IsNaN(float64(n)) || math.IsInf(float64(n), 0) {
		return []byte("null"), nil
	}
	return strconv.AppendFloat(nil, float64(n), 'g', -1, 64), nil
}

// UnmarshalJSON reads null as Missing.
func (n *Number) UnmarshalJSON(text []byte) error {
	if string(text) == "null" {
		*n = Missing()
		return nil
	}
	x, err := strconv.ParseFloat(string(text), 64)
	*n = Number(x)
	return err
}

// Distribution sums up a sample: seconds for times, a ratio for slowdown.
// All four are Missing for an empty sample.
type Distribution struct {
	Mean Number `json:"mean"` // arithmetic
	P50  Number `json:"p50"`  // median
	P90  Number `json:"p90"`  // 90th percentile
	P99  Number `json:"p99"`  // 99th percentile
}

// Statistic is one figure of a Distribution.
type Statistic struct {
	Name string
	Of   func(*Distribution) Number
}

// Statistics returns the figures of a Distribution, in its order.
func Statistics() []Statistic {
	return []Statistic{
		{"mean", func(d *Distribution) Number { return d.Mean }},
		{"p50", func(d *Distribution) Number { return d.P50 }},
		{"p90", func(d *Distribution) Number { return d.P90 }},
		{"p99", func(d *Distribution) Number { return d.P99 }},
	}
}

type numeric interface{ ~int64 | ~float64 }

// Describe sums up a sample in any order, each value multiplied by unit. It
// sorts the sample in place.
func Describe[T numeric](sample []T, unit float64) Distribution {
	slices.Sort(sample)
	sum := 0.0
	for _, x := range sample {
		sum += float64(x)
	}
	at := func(p float64) Number { return Number(Percentile(sample, p) * unit) }
	return Distribution{
		Mean: Number(sum / float64(len(sample)) * unit), // 0/0 is NaN: Missing
		P50:  at(50), P90: at(90), P99: at(99),
	}
}

// Percentile interpolates linearly between the order statistics of a sorted
// sample: for n values, p percent lies at position (n-1) p/100 counted from 0.
// It is NaN for an empty sample.
func Percentile[T numeric](sorted []T, p float64) float64 {
	if len(sorted) == 0 {
		return math.NaN()
	}
	position := float64(len(sorted)-1) * (min(max(p, 0), 100) / 100)
	below := int(position)
	low := float64(sorted[below])
	if below == len(sorted)-1 {
		return low
	}
	high := float64(sorted[below+1])
	share := position - float64(below)
	// From the nearer end, as NumPy does, so that no rounding passes an end.
	if share < 0.5 {
		return low + float64((high-low)*share)
	}
	return high - float64((high-low)*(1-share))
}
