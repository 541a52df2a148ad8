package reuther

import (
	"math"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/measure"
	"pgregory.net/rapid"
)

// TestFit: the regression finds the parameters of exact data, and leaves out sets that say
// nothing about the scheduler.
func TestFit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		latency, exponent := rapid.Float64Range(1e-4, 40).Draw(t, "t_s"), rapid.Float64Range(0.5, 2).Draw(t, "alpha_s")
		var sets []SetResult
		for _, n := range []int{4, 8, 48, 240} {
			sets = append(sets, SetResult{Each: n, Duration: measure.Number(240 / float64(n)), Multilevel: 1, Over: measure.Number(latency * math.Pow(float64(n), exponent))})
		}
		sets = append(sets,
			SetResult{Each: 8, Duration: 30, Multilevel: 1, Variable: true, Over: 1000},
			SetResult{Each: 8, Duration: 30, Multilevel: 4, Over: 1000},
			SetResult{Each: 8, Duration: 0, Multilevel: 1, Over: 1000},
			SetResult{Each: 8, Duration: 30, Multilevel: 1, Over: -1})
		f := fit(sets)
		if f.Points != 4 || math.Abs(float64(f.Latency)/latency-1) > 1e-6 || math.Abs(float64(f.Exponent)-exponent) > 1e-6 {
			t.Errorf("%+v, want %v and %v", f, latency, exponent)
		}
	})
	sets := []SetResult{{Each: 4, Duration: 4, Multilevel: 1, Over: 1}, {Each: 8, Duration: 2, Multilevel: 1, Over: 0.7}, {Each: 8, Duration: 2, Multilevel: 1, Over: 0.8}}
	for n := range len(sets) + 1 { // a line through two points, whose exponent may be below zero, is no fit
		if f := fit(sets[:n]); !math.IsNaN(float64(f.Latency)) || !math.IsNaN(float64(f.Exponent)) || f.Points != n {
			t.Errorf("%d sets of two numbers of tasks have the model %+v", n, f)
		}
	}
}
