package workload

import "fmt"

// Classify sets both classes of every job: truly short when the mean of its durations is at most
// cutoff (ns), declared short when its estimate is.
func (w *Workload) Classify(cutoff int64) *Workload {
	out := w.with()
	for i := range out.Jobs {
		job := &out.Jobs[i]
		job.TrueLong, job.DeclaredLong = job.Mean() > cutoff, job.Estimate > cutoff
	}
	return out
}

// FirstN keeps the first n jobs, all when n is 0 or beyond them.
func (w *Workload) FirstN(n int) *Workload {
	out := w.with()
	if n > 0 && n < len(out.Jobs) {
		out.Jobs = out.Jobs[:n:n]
	}
	return out
}

// Scale multiplies all arrivals by one factor, so that Load(workers) is load.
// It fails when all jobs arrive at once: no factor changes their load.
func (w *Workload) Scale(load float64, workers int) (*Workload, error) {
	now := w.Load(workers)
	if now == 0 {
		return nil, fmt.Errorf("cannot scale %s to load %g on %d workers: its %d jobs have no span of arrivals or no work; "+
			"nothing was run; leave --load out, or use a workload whose jobs arrive over some time", w.Name, load, workers, len(w.Jobs))
	}
	if !(load > 0) {
		return nil, fmt.Errorf("cannot scale %s to load %g: a load is above 0; nothing was run; try --load 0.9", w.Name, load)
	}
	factor := now / load
	if last := w.Jobs[len(w.Jobs)-1].Arrival; float64(last)*factor > MaxSeconds*1e9 {
		return nil, fmt.Errorf("cannot scale %s to load %g on %d workers: arrivals would pass the limit of %d s; nothing was run; ask for more load or fewer workers",
			w.Name, load, workers, MaxSeconds)
	}
	out := w.with()
	for i := range out.Jobs {
		out.Jobs[i].Arrival = nanos(float64(out.Jobs[i].Arrival) * factor)
	}
	return out, nil
}

// Resample draws n jobs with replacement, with Poisson arrivals from
// time 0: independent exponential gaps, scaled as a whole so that Load(workers)
// is load, or the load before when load is 0. Keys become 1 to n.
func (w *Workload) Resample(n int, seed uint64, workers int, load float64) (*Workload, error) {
	if n < 2 || n > MaxJobs || len(w.Jobs) == 0 {
		return nil, fmt.Errorf("cannot draw %d jobs from the %d of %s: 2 to %d can be drawn from at least 1; nothing was run; change --resample",
			n, len(w.Jobs), w.Name, MaxJobs)
	}
	if load == 0 {
		if load = w.Load(workers); load == 0 {
			return nil, fmt.Errorf("cannot draw %d jobs from %s at its own load: its %d jobs have no span of arrivals or no work, so it has none; "+
				"nothing was run; give the load, as --load 0.9, or use a workload whose jobs arrive over some time", n, w.Name, len(w.Jobs))
		}
	}
	picks := newRand(seed, streamResample)
	out := &Workload{Name: w.Name, Jobs: make([]Job, n)}
	for i := range out.Jobs {
		out.Jobs[i] = w.Jobs[picks.IntN(len(w.Jobs))]
	}
	out.number()
	out.arrive(seed)
	return out.Scale(load, workers)
}

// Speedup divides arrivals, durations and estimates by factor. Classes stay,
// so call it after Classify; times measured are multiplied by factor to
// compare them with the workload before.
func (w *Workload) Speedup(factor float64) (*Workload, error) {
	if !(factor > 0) || factor > 1e9 || factor < 1e-3 {
		return nil, fmt.Errorf("cannot speed %s up by %g: the factor is from 0.001 to 1e9; nothing was run; change --speedup", w.Name, factor)
	}
	out := w.with()
	for i := range out.Jobs {
		job := &out.Jobs[i]
		job.Arrival = nanos(float64(job.Arrival) / factor)
		job.Estimate = nanos(float64(job.Estimate) / factor)
		durations := make([]int64, len(job.Durations))
		for k, d := range job.Durations {
			durations[k] = nanos(float64(d) / factor)
		}
		job.Durations = durations
	}
	return out, nil
}

// number makes keys the numbers of the jobs, from 1.
func (w *Workload) number() {
	for i := range w.Jobs {
		w.Jobs[i].Line = i + 1
	}
}

// arrive sets Poisson arrivals of one job per second from time 0;
// Scale then sets the rate.
func (w *Workload) arrive(seed uint64) {
	gaps := newRand(seed, streamArrivals)
	var at int64
	for i := range w.Jobs {
		w.Jobs[i].Arrival = at
		at += nanos(exponential(gaps) * 1e9)
	}
}
