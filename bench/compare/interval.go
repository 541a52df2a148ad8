package compare

import (
	"math"

	"github.com/pigeon-sched/pigeon/bench/measure"
)

// Interval is a mean over seeds with its 95 % confidence interval. Low and High
// are missing for one seed.
type Interval struct {
	Mean, Low, High measure.Number
}

// meanOf returns the mean of a sample with the interval of Student's t; values that
// are missing make it missing.
func meanOf(sample []float64) Interval {
	none := Interval{measure.Missing(), measure.Missing(), measure.Missing()}
	n := float64(len(sample))
	mean := 0.0
	for _, x := range sample {
		mean += x / n
	}
	if n == 0 || math.IsNaN(mean) || math.IsInf(mean, 0) {
		return none
	}
	if n == 1 {
		none.Mean = measure.Number(mean)
		return none
	}
	squares := 0.0
	for _, x := range sample {
		squares += (x - mean) * (x - mean)
	}
	half := studentT(len(sample)-1) * math.Sqrt(squares/(n-1)/n)
	return Interval{measure.Number(mean), measure.Number(mean - half), measure.Number(mean + half)}
}

// ratioOf returns the geometric mean of ratios, with the interval of t on their
// logarithms: a ratio and its inverse are as far from 1.
func ratioOf(ratios []float64) Interval {
	logs := make([]float64, len(ratios))
	for i, r := range ratios {
		logs[i] = math.Log(r)
	}
	in := meanOf(logs)
	back := func(x measure.Number) measure.Number { return measure.Number(math.Exp(float64(x))) }
	return Interval{back(in.Mean), back(in.Low), back(in.High)}
}

// studentT is the 97.5 % quantile of Student's t with df degrees of freedom.
// Above 30 the first two terms of its expansion about the normal quantile give
// it to within 0.001 (Abramowitz and Stegun 26.7.5).
func studentT(df int) float64 {
	table := [...]float64{
		12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
		2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
		2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
	}
	if df <= len(table) {
		return table[df-1]
	}
	const z = 1.959964
	v := float64(df)
	return z + (z*z*z+z)/(4*v) + (5*z*z*z*z*z+16*z*z*z+3*z)/(96*v*v)
}
