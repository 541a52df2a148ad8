package model_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/pigeon-sched/pigeon/bench/model"
)

// One task and two probes: the least of two workloads, whose distribution
// Hellemans and Van Houdt (2018) give in closed form for exponential tasks, P(V > w)
// = 1 / (rho + (1/rho - rho) e^w). A task waits for the lesser of two such.
func TestSparrowOfOneTask(t *testing.T) {
	for _, rho := range []float64{0.1, 0.5, 0.9, 0.99} {
		tail := func(w float64) float64 { return 1 / (rho + (1/rho-rho)*math.Exp(w)) }
		mean, step := 0.0, 1e-4
		for w := step / 2; w < 40; w += step {
			mean += tail(w) * tail(w) * step
		}
		near(t, "T_q", model.SparrowQueueingTime(rho, 1, 1), mean, 1e-4*mean)
		near(t, "P_task(0)", model.SparrowTaskServedAtOnce(rho, 1), 1-rho*rho, 1e-9)
	}
}

// Many tasks: a worker takes a task whenever its wait is at most the median wait m.
// It is a queue with tasks at twice the rate that turns them away above m; its
// density is 2 rho (1-rho) e^((2 rho - 1) V) up to there.
func TestSparrowOfManyTasks(t *testing.T) {
	for _, rho := range []float64{0.6, 0.8, 0.9, 0.95} {
		a, b := 2*rho, 2*rho-1
		m := math.Log(1+b/a*(1/(2*(1-rho))-1)) / b
		want := 2 * (1 - rho) * a * (m*math.Exp(b*m)/b - (math.Exp(b*m)-1)/(b*b))
		near(t, fmt.Sprintf("T_q at %g", rho), model.SparrowQueueingTime(rho, 20_000, 1), want, 0.01*want)
		near(t, "P_task(0)", model.SparrowTaskServedAtOnce(rho, 20_000), 2*(1-rho), 0.01)
	}
}

// More tasks in a job mean more of its probes that wait about as long as the
// others, and never more waiting than at one worker for each task.
func TestSparrowIsMonotone(t *testing.T) {
	for _, tasks := range []int{1, 2, 10, 100, 1000} {
		before := 0.0
		for _, rho := range []float64{0, 0.01, 0.3, 0.5, 0.7, 0.9, 0.97} {
			q := model.SparrowQueueingTime(rho, tasks, 100)
			if p := model.SparrowTaskServedAtOnce(rho, tasks); q < before || q > 100*rho/(1-rho) || p > 1 || p < 1-rho-1e-9 {
				t.Errorf("%d tasks at %g: T_q %g, before %g; P_task(0) %g", tasks, rho, q, before, p)
			}
			before = q
		}
	}
	for _, x := range []float64{model.SparrowQueueingTime(1, 3, 1), model.SparrowQueueingTime(0.5, 0, 1), model.SparrowQueueingTime(math.NaN(), 3, 1), model.SparrowTaskServedAtOnce(-0.1, 3)} {
		if !math.IsNaN(x) {
			t.Errorf("outside the model: %g, want NaN", x)
		}
	}
}
