package compare

import (
	"math"

	"github.com/pigeon-sched/pigeon/internal/measure"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
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
	mean, deviation := stat.MeanStdDev(sample, nil) // NaN for none
	switch {
	case math.IsNaN(mean) || math.IsInf(mean, 0):
		return none
	case len(sample) == 1:
		none.Mean = measure.Number(mean)
		return none
	}
	t := distuv.StudentsT{Sigma: 1, Nu: float64(len(sample) - 1)}.Quantile(0.975)
	half := t * stat.StdErr(deviation, float64(len(sample)))
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
