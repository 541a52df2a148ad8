package workload

// WrongClass flips the declared class of each job with probability share; such
// a job's estimate becomes the estimate of a random job of the class that it now declares.
// The true class stays. Without a job of the other class the job keeps its
// own estimate.
func (w *Workload) WrongClass(share float64, seed uint64) *Workload {
	out := w.with()
	if share <= 0 {
		return out
	}
	estimates := w.estimatesByClass()
	draw := newRand(seed, streamWrongClass)
	for i := range out.Jobs {
		// Both draws are made for every job, so that which jobs are wrong at
		// one share are also wrong at a larger one, with the same estimates.
		wrong, pick := draw.Float64() < share, draw.Float64()
		if !wrong {
			continue
		}
		job := &out.Jobs[i]
		job.DeclaredLong = !job.DeclaredLong
		if others := estimates[Class(job.DeclaredLong)]; len(others) > 0 {
			job.Estimate = others[int(pick*float64(len(others)))]
		}
	}
	return out
}

// Undeclare makes each job, with probability share, one that states neither its class nor
// an estimate. The scheduler receives such a job as short. The true class stays.
func (w *Workload) Undeclare(share float64, seed uint64) *Workload {
	out := w.with()
	if share <= 0 {
		return out
	}
	draw := newRand(seed, streamUndeclared)
	for i := range out.Jobs {
		if draw.Float64() < share {
			out.Jobs[i].Undeclared, out.Jobs[i].DeclaredLong, out.Jobs[i].Estimate = true, false, 0
		}
	}
	return out
}

// Noise multiplies every estimate by exp(sigma N - sigma^2/2), N standard
// normal, which has mean 1. Classes stay.
func (w *Workload) Noise(sigma float64, seed uint64) *Workload {
	out := w.with()
	if sigma <= 0 {
		return out
	}
	draw := newRand(seed, streamNoise)
	for i := range out.Jobs {
		power := float64(sigma*normal(draw)) - float64(sigma*sigma)/2
		factor := exp(min(max(power, -600), 600))
		out.Jobs[i].Estimate = nanos(float64(out.Jobs[i].Estimate) * factor)
	}
	return out
}

// estimatesByClass lists the estimates of the jobs by their declared class.
func (w *Workload) estimatesByClass() (estimates [2][]int64) {
	for i := range w.Jobs {
		c := Class(w.Jobs[i].DeclaredLong)
		estimates[c] = append(estimates[c], w.Jobs[i].Estimate)
	}
	return estimates
}
