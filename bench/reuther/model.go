package reuther

import (
	"math"

	"github.com/pigeon-sched/pigeon/internal/measure"
	"gonum.org/v1/gonum/stat"
)

// Fit is the paper's model of a scheduler (section 4): the excess of T_total over the work
// of a slot is t_s n^alpha_s.
type Fit struct {
	Latency  measure.Number `json:"t_s"`     // seconds
	Exponent measure.Number `json:"alpha_s"` // 1: each task costs the same
	Points   int            `json:"points"`  // sets that were fitted; the model is missing below three numbers of tasks
}

// leastNumbers is how many numbers of tasks a model needs.
const leastNumbers = 3

// fit is the regression of log(T_total - t n) on log n over the sets with constant durations
// of one task a launch. A set that took no longer than its work says nothing about the
// scheduler and is left out.
func fit(sets []SetResult) Fit {
	var x, y []float64
	numbers := map[int]bool{}
	for _, s := range sets {
		if !s.Variable && s.Multilevel == 1 && s.Duration > 0 && s.Over > 0 {
			x, y = append(x, math.Log(float64(s.Each))), append(y, math.Log(float64(s.Over)))
			numbers[s.Each] = true
		}
	}
	// Two points fit any line: it would say nothing, and may have a negative exponent.
	if len(numbers) < leastNumbers {
		return Fit{Latency: measure.Missing(), Exponent: measure.Missing(), Points: len(x)}
	}
	alpha, beta := stat.LinearRegression(x, y, nil, false)
	return Fit{Latency: measure.Number(math.Exp(alpha)), Exponent: measure.Number(beta), Points: len(x)}
}

// Utilization is the model's, for n tasks of t seconds on each slot (section 4):
// 1 / (1 + t_s n^alpha_s / (t n)).
func (f Fit) Utilization(t float64, n int) float64 {
	return 1 / (1 + float64(f.Latency)*math.Pow(float64(n), float64(f.Exponent))/(t*float64(n)))
}
