package model

import "math"

// sparrowSteps is the number of steps of the integrals below: with it the
// results change by less than 1e-6 of themselves when it is doubled.
const sparrowSteps = 20_000

// SparrowTaskServedAtOnce is P_task(0) of Sparrow: the share of the tasks of a job
// that are taken by workers which were idle when the probe came.
func SparrowTaskServedAtOnce(rho float64, tasks int) float64 {
	s := newSparrow(rho, tasks)
	return 1 - probes*s.handed[len(s.handed)-1]
}

// SparrowQueueingTime is the mean time a task waits for a worker, those that do not
// wait included, in the unit of meanTask. The paper's section 3 has none for
// Sparrow, whose probes it only counts; this one is derived.
//
// A job of F tasks probes 2F workers, and its tasks go to those F of them that come
// first to its reservation. Say that the workers are many, so that a probe finds
// its worker with a wait V drawn from the one distribution of all workers,
// independent of the waits of the job's other probes (the premise of Sparrow's own
// analysis, and of the power-of-d models). Then
//
//   - with H the share of workers whose wait is longer, a probe is handed a task when
//     at least F of the other 2F-1 waits are longer: p(H) = P(Bin(2F-1, H) >= F)
//     = I_H(F, F), the distribution function of Beta(F, F);
//   - a probe that is handed no task costs its worker nothing. So the wait at a
//     worker grows by an exponential task at the rate 2 rho p(H) / T_e and falls by
//     1 each second; in time the passages of a level V in both directions balance.
//     With densities in units of T_e, f the density of V as a function of H, and
//     Q(H) the integral of p from 0 to H, this gives f = H - 2 rho Q(H);
//   - dV = -dH / f, and the mean of V over the probes that are handed a task, half
//     of all, follows by parts:
//
// T_q = 2 T_e integral of Q(H) / (H - 2 rho Q(H)) dH from 0 to rho.
//
// For F = 1 it is the model of the least of two workloads of Hellemans and Van Houdt
// (2018). For large F, p is 1 below the median wait and 0 above it: a worker is then
// a queue that takes no more than that median.
//
// What it leaves out: messages, a worker's round trip for each reservation among
// them (2 delays for each of 2 probes: for tasks of 100 ms and 0.5 ms a load of 0.9
// acts like 0.918), and that the waits of workers probed together are not quite
// independent. The second matters when the 2F probes are not few among the workers.
func SparrowQueueingTime(rho float64, tasks int, meanTask float64) float64 {
	s := newSparrow(rho, tasks)
	step, sum := rho/sparrowSteps, 0.0
	for i, q := range s.handed {
		if i == 0 {
			continue // both parts go to 0; the quotient is 0 for F > 1 and stays below 1/2 for F = 1
		}
		h := float64(i) * step
		part := q / (h - probes*rho*q)
		if i == sparrowSteps {
			part /= 2
		}
		sum += part * step
	}
	return probes * meanTask * sum
}

// probes is Sparrow's probe ratio d.
const probes = 2

// sparrow holds Q(H) at equal steps of H from 0 to rho.
type sparrow struct{ handed []float64 }

func newSparrow(rho float64, tasks int) sparrow {
	handed := make([]float64, sparrowSteps+1)
	if tasks < 1 || !inRange(1, rho) {
		handed[sparrowSteps] = math.NaN()
		return sparrow{handed}
	}
	step, f := rho/sparrowSteps, float64(tasks)
	// Beta(F, F) has the density H^(F-1) (1-H)^(F-1) / B.
	whole, _ := math.Lgamma(2 * f)
	half, _ := math.Lgamma(f)
	density := func(h float64) float64 {
		if h == 0 && tasks == 1 {
			return 1
		}
		return math.Exp(whole - 2*half + (f-1)*(math.Log(h)+math.Log1p(-h)))
	}
	p, before := 0.0, density(0)
	for i := 1; i <= sparrowSteps; i++ {
		now := density(float64(i) * step)
		last := p
		p = min(1, p+(before+now)/2*step)
		handed[i] = handed[i-1] + (last+p)/2*step
		before = now
	}
	return sparrow{handed}
}
