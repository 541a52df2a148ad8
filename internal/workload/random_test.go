package workload

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestLogarithmAndExponentialAreExactTo1e15(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.Float64Range(-600, 600).Draw(t, "x")
		want := math.Exp(x)
		if got := exp(x); math.Abs(got-want) > 2e-13*want { // x ln 2 loses |x| 2^-53
			t.Fatalf("exp(%g) = %g, want %g", x, got, want)
		}
		small := rapid.Float64Range(-2, 2).Draw(t, "small")
		if got, want := exp(small), math.Exp(small); math.Abs(got-want) > 1e-15*want {
			t.Fatalf("exp(%g) = %.17g, want %.17g", small, got, want)
		}
		y := rapid.Float64Range(1e-300, 1e300).Draw(t, "y")
		if got, want := ln(y), math.Log(y); math.Abs(got-want) > 1e-15*max(1, math.Abs(want)) {
			t.Fatalf("ln(%g) = %.17g, want %.17g", y, got, want)
		}
	})
}

// The values of seed 1, so that another machine kind or Go release that draws
// otherwise is noticed here and not as a result that cannot be repeated.
func TestDrawsAreTheSameEverywhere(t *testing.T) {
	r := newRand(1, streamJobs)
	got := [4]uint64{
		math.Float64bits(exponential(r)), math.Float64bits(normal(r)),
		math.Float64bits(exponential(r)), math.Float64bits(normal(r)),
	}
	want := [4]uint64{0x3ff20e01325cace2, 0xc008e200dbcd4d32, 0x3fe1f9e669518f3d, 0x3ff4279eb3a07ed0}
	if got != want {
		t.Errorf("draws of seed 1 = %#x, want %#x", got, want)
	}
}
