package compare

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestMeanWithItsInterval(t *testing.T) {
	// Of 4, 6 and 8: the standard error is 2/sqrt(3), t with two degrees 4.303.
	in := meanOf([]float64{4, 6, 8})
	if half := 4.30265 * 2 / math.Sqrt(3); in.Mean != 6 || math.Abs(float64(in.High)-6-half) > 1e-5 || math.Abs(float64(in.Low)-6+half) > 1e-5 {
		t.Errorf("%+v", in)
	}
	if in := meanOf([]float64{4}); in.Mean != 4 || !math.IsNaN(float64(in.Low)) || in.wide() {
		t.Errorf("one value: %+v", in)
	}
	for name, sample := range map[string][]float64{"none": nil, "missing": {1, math.NaN()}} {
		if in := meanOf(sample); !math.IsNaN(float64(in.Mean)) {
			t.Errorf("%s: %+v", name, in)
		}
	}
}

// A ratio and its inverse have intervals that are inverse to each other.
func TestRatiosInvert(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ratios := rapid.SliceOfN(rapid.Float64Range(1e-3, 1e3), 2, 10).Draw(t, "ratios")
		inverse := make([]float64, len(ratios))
		for i, r := range ratios {
			inverse[i] = 1 / r
		}
		a, b := ratioOf(ratios), ratioOf(inverse)
		for _, pair := range [][2]float64{{float64(a.Mean), float64(b.Mean)}, {float64(a.Low), float64(b.High)}, {float64(a.High), float64(b.Low)}} {
			if product := pair[0] * pair[1]; pair[1] != 0 && !math.IsInf(pair[0], 0) && math.Abs(math.Log(product)) > 1e-6 {
				t.Fatalf("%+v against %+v", a, b)
			}
		}
	})
}
