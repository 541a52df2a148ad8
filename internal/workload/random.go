package workload

import (
	"math"
	"math/rand/v2"
)

// Each kind of draw has another stream, so that one more transform does not change the
// draws of the others.
const (
	streamArrivals uint64 = iota + 1
	streamJobs
	streamResample
	streamWrongClass
	streamNoise
	streamUndeclared
	streamOwners // and a job's key, in the lower bits
	streamNames  // likewise
	streamWide   // likewise
	streamGangs  // likewise
)

func newRand(seed, stream uint64) *rand.Rand {
	return rand.New(rand.NewPCG(seed, stream))
}

// The library's logarithm and exponential, and the normal and exponential
// variates that use them, are assembly on some machine kinds and may be fused
// into multiply-adds on others, so their last bit differs. The forms below
// round every product and agree everywhere; they are within 1e-15 of exact.

// ln is the natural logarithm of a finite x > 0: with x = m 2^e and
// s = (m-1)/(m+1), ln x = e ln 2 + 2 (s + s^3/3 + s^5/5 + ...).
func ln(x float64) float64 {
	m, e := math.Frexp(x)
	if m < math.Sqrt2/2 {
		m *= 2
		e--
	}
	s := (m - 1) / (m + 1)
	square := float64(s * s)
	sum := 0.0
	for k := 23; k >= 1; k -= 2 { // s < 0.172: the next term is below 1e-18
		sum = float64(sum*square) + 1/float64(k)
	}
	return float64(float64(e)*math.Ln2) + float64(2*s*sum)
}

// exp is e^x for |x| < 700: with x = k ln 2 + r, the Taylor series of r.
func exp(x float64) float64 {
	k := math.Round(x / math.Ln2)
	r := x - float64(k*math.Ln2)
	sum := 1.0
	for n := 17; n >= 1; n-- { // |r| < 0.35: the next term is below 1e-23
		sum = 1 + float64(sum*r)/float64(n)
	}
	return math.Ldexp(sum, int(k))
}

// exponential draws from the exponential distribution of mean 1.
func exponential(r *rand.Rand) float64 {
	return -ln(1 - r.Float64()) // 1 - [0,1) is never 0
}

// normal draws from the standard normal distribution (Marsaglia's polar
// method, which needs a logarithm and a square root only).
func normal(r *rand.Rand) float64 {
	for {
		x, y := float64(2*r.Float64())-1, float64(2*r.Float64())-1
		s := float64(x*x) + float64(y*y)
		if s > 0 && s < 1 {
			return x * math.Sqrt(float64(-2*ln(s))/s)
		}
	}
}

// nanos rounds to nanoseconds within what an int64 and a trace can hold.
func nanos(x float64) int64 {
	return int64(math.Round(min(max(x, 0), MaxSeconds*1e9)))
}
