package model_test

import (
	"math"
	"math/big"
	"testing"

	"github.com/pigeon-sched/pigeon/bench/model"
)

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if math.IsNaN(got) || math.Abs(got-want) > tolerance {
		t.Errorf("%s is %.6g, want %.6g +- %g", what, got, want, tolerance)
	}
}

// bench/results/expected.md: "equation for P_job,
// exponential, N_w 50/100/200 at load 0.9 | ... (formula 0.591 / 0.766 / 0.901)".
func TestJobExponential(t *testing.T) {
	for _, c := range []struct {
		n    int
		want float64
	}{{50, 0.591}, {100, 0.766}, {200, 0.901}} {
		near(t, "P_job(0)", model.JobServedAtOnceExponential(c.n, 0.9), c.want, 0.0005)
	}
}

// printed evaluates the formula of section 3 as it stands, with 400 bits.
func printed(n int, rho float64) float64 {
	num := func(x float64) *big.Float { return new(big.Float).SetPrec(400).SetFloat64(x) }
	x := new(big.Float).SetPrec(400).Mul(num(float64(n)), num(rho))
	term, sum := num(1), num(0) // x^k / k!
	for k := range n {
		sum.Add(sum, term)
		term.Mul(term, x).Quo(term, num(float64(k+1)))
	}
	part := sum.Quo(sum, term) // term is x^n / n! now
	part.Mul(part, new(big.Float).SetPrec(400).Sub(num(1), num(rho)))
	wait, _ := new(big.Float).SetPrec(400).Quo(num(1), part.Add(part, num(1))).Float64()
	return 1 - wait
}

func TestTaskAgainstThePrintedFormula(t *testing.T) {
	for _, n := range []int{1, 2, 10, 50, 100, 169, 170, 171, 200, 1000, 10_000} {
		for _, rho := range []float64{0.01, 0.5, 0.8, 0.9, 0.99, 0.9999} {
			near(t, "P_task(0)", model.TaskServedAtOnce(n, rho), printed(n, rho), 1e-11)
		}
	}
}

// One worker: the probability that it is idle, and the waiting time of M/M/1.
func TestOneWorker(t *testing.T) {
	for _, rho := range []float64{0, 0.3, 0.9} {
		near(t, "P_task(0)", model.TaskServedAtOnce(1, rho), 1-rho, 1e-15)
		near(t, "T_q", model.QueueingTime(1, rho, 100), 100*rho/(1-rho), 1e-9)
	}
}

func TestEqualDurations(t *testing.T) {
	p := model.TaskServedAtOnce(100, 0.8)
	near(t, "P_job(0) of one task", model.JobServedAtOnceEqual(100, 0.8, 1), p, 1e-15)
	near(t, "P_job(0) of 100 tasks", model.JobServedAtOnceEqual(100, 0.8, 100), math.Pow(p, 100), 1e-12)
}

// Small cases by hand, and the sum over all outcomes.
func TestSparrow(t *testing.T) {
	near(t, "one task", model.SparrowJobServedAtOnce(0.9, 1), 2*0.1*0.9+0.1*0.1, 1e-12)
	near(t, "two tasks", model.SparrowJobServedAtOnce(0.5, 2), (6+4+1)/16.0, 1e-12)
	near(t, "no load", model.SparrowJobServedAtOnce(0, 5), 1, 0)
	near(t, "half load, many tasks", model.SparrowJobServedAtOnce(0.5, 10_000), 0.5, 0.01)
	near(t, "100 tasks at load 0.9", model.SparrowJobServedAtOnce(0.9, 100), 0, 1e-20)
	near(t, "light load, many tasks", model.SparrowJobServedAtOnce(0.1, 100_000), 1, 1e-9)
}

// Probabilities are probabilities, and fall with the load and rise with the group,
// up to 10,000 workers.
func TestMonotone(t *testing.T) {
	for _, rho := range []float64{0.5, 0.8, 0.9, 0.95, 0.999} {
		before := 0.0
		for _, n := range []int{1, 10, 50, 100, 200, 1000, 10_000} {
			p := model.TaskServedAtOnce(n, rho)
			if !(p >= before && p <= 1) || model.TaskServedAtOnce(n, rho-0.1) < p {
				t.Errorf("P_task(0) for %d workers at %g is %g", n, rho, p)
			}
			before = p
		}
	}
}

func TestOutsideTheModel(t *testing.T) {
	for _, x := range []float64{
		model.TaskServedAtOnce(0, 0.5), model.TaskServedAtOnce(-1, 0.5), model.TaskServedAtOnce(10, 1), model.TaskServedAtOnce(10, -0.1),
		model.TaskServedAtOnce(10, math.NaN()), model.QueueingTime(10, 1, 1), model.JobServedAtOnceEqual(10, 1.5, 3),
		model.JobServedAtOnceExponential(10, 1), model.SparrowJobServedAtOnce(1, 3), model.SparrowJobServedAtOnce(0.5, 0),
	} {
		if !math.IsNaN(x) {
			t.Errorf("%g, want NaN", x)
		}
	}
}
