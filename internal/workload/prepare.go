package workload

// Options are the workload flags that sim, replay and compare share. The zero
// value of each field leaves the workload as it is.
type Options struct {
	// Jobs is the number of first jobs that are kept.
	Jobs int
	// Resample is the number of jobs drawn with replacement, with Poisson arrivals.
	Resample int
	// Load rescales arrivals to work / (Workers x span of arrivals).
	Load float64
	// Workers is what loads refer to.
	Workers int
	// Cutoff (ns): a job is short when its estimate is at most this.
	Cutoff int64
	// WrongClass is the share of jobs, 0 to 1, whose declared class is flipped.
	WrongClass float64
	// Undeclared is the share of jobs, 0 to 1, that state neither class nor estimate.
	Undeclared float64
	// Noise is the sigma of the log-normal factor on estimates.
	Noise float64
	// Owners assigns jobs to owners; nil leaves them as they are.
	Owners *Owners
	// Names names the works that jobs belong to; nil names none.
	Names *Names
	// Wide gives tasks of several slots to jobs, Gangs makes gangs of others; nil for none.
	Wide, Gangs *Wide
	// Speedup divides all times.
	Speedup float64
	// Seed is the seed of all that is drawn.
	Seed uint64
}

// Prepare applies the options in the order that the package drawing shows.
func (w *Workload) Prepare(o Options) (*Workload, error) {
	out := w.FirstN(o.Jobs)
	var err error
	switch {
	case o.Resample > 0:
		out, err = out.Resample(o.Resample, o.Seed, o.Workers, o.Load)
	case o.Load != 0:
		out, err = out.Scale(o.Load, o.Workers)
	}
	if err == nil {
		out, err = out.Demand(o.Wide, o.Gangs, o.Seed, o.Workers)
	}
	if err != nil {
		return nil, err
	}
	out = out.Classify(o.Cutoff).WrongClass(o.WrongClass, o.Seed).Noise(o.Noise, o.Seed).Undeclare(o.Undeclared, o.Seed).Recur(o.Names, o.Seed).Assign(o.Owners, o.Seed)
	if o.Speedup != 0 {
		return out.Speedup(o.Speedup)
	}
	return out, nil
}
