package model

import "math"

// TaskServedAtOnce is P_task(0): the probability that a task finds an idle worker
// in a group of n workers at load rho. As printed,
//
//	1 - 1 / (1 + (1-rho) (n! / (n rho)^n) sum_{k<n} (n rho)^k / k!)
//
// whose parts pass the range of a float from n = 170 on. It is 1 - C, with C of
// Erlang's waiting system, which follows from B of his loss system by the
// recursion B_k = x B_(k-1) / (k + x B_(k-1)), x = n rho: sums and products of
// positive numbers, none above 1.
func TaskServedAtOnce(n int, rho float64) float64 {
	if !inRange(n, rho) {
		return math.NaN()
	}
	x := float64(n) * rho
	b := 1.0
	for k := 1; k <= n; k++ {
		b = x * b / (float64(k) + x*b)
	}
	return 1 - b/(1-rho*(1-b))
}

// QueueingTime is T_q: the mean time a task waits for a worker, those that do not
// wait included, in the unit of meanTask:
//
//	T_q = (1 - P_task(0)) / (n / T_e - lambda_t), with lambda_t = rho n / T_e.
func QueueingTime(n int, rho, meanTask float64) float64 {
	return (1 - TaskServedAtOnce(n, rho)) * meanTask / (float64(n) * (1 - rho))
}

// JobServedAtOnceEqual is P_job(0) for a job of the given number of tasks, all of
// equal duration: none of them may wait.
func JobServedAtOnceEqual(n int, rho float64, tasks int) float64 {
	return math.Pow(TaskServedAtOnce(n, rho), float64(tasks))
}

// JobServedAtOnceExponential is P_job(0) for exponential durations, approximately:
// the longest task must not wait, and no other may wait so long that it ends
// last. It does not depend on the number of tasks.
func JobServedAtOnceExponential(n int, rho float64) float64 {
	return TaskServedAtOnce(n, rho) * math.Exp(-QueueingTime(n, rho, 1))
}

// SparrowJobServedAtOnce is P_job(0) of Sparrow with two probes per task: at least
// as many of the 2F probes as there are tasks must find an idle worker,
//
//	sum_{i=F..2F} (1-rho)^i rho^(2F-i) C(2F,i).
func SparrowJobServedAtOnce(rho float64, tasks int) float64 {
	if tasks < 1 || !inRange(1, rho) {
		return math.NaN()
	}
	if rho == 0 {
		return 1
	}
	probes := 2 * tasks
	sum := 0.0
	for i := tasks; i <= probes; i++ {
		sum += math.Exp(logBinomial(probes, i) + float64(i)*math.Log1p(-rho) + float64(probes-i)*math.Log(rho))
	}
	return min(sum, 1)
}

// logBinomial is the logarithm of C(n, k).
func logBinomial(n, k int) float64 {
	a, _ := math.Lgamma(float64(n + 1))
	b, _ := math.Lgamma(float64(k + 1))
	c, _ := math.Lgamma(float64(n - k + 1))
	return a - b - c
}

func inRange(n int, rho float64) bool { return n > 0 && rho >= 0 && rho < 1 }
