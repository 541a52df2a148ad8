// Package workload holds the input of a run: jobs with their arrival,
// estimate and task durations, read from a published trace file or generated,
// and the transforms that scale, sample or falsify them.
//
//	trace file ──Read──┐
//	                   ├─▶ Workload ─▶ FirstN ─▶ Resample ─▶ Scale ─▶ Demand ─▶ Classify ─▶ WrongClass ─▶ Noise ─▶ Undeclare ─▶ Recur ─▶ Assign ─▶ Speedup
//	gen:NAME ──Open────┘
//
// Prepare applies the transforms in this order. Each returns a new Workload
// and leaves its receiver as it was; the slices of task durations are shared
// and never written. Draws depend on the given seed only, and on no
// instruction that rounds differently from one machine kind to another (see
// random.go), so one seed is one workload everywhere.
//
// Times are int64 nanoseconds. Trace files hold decimal seconds; they are
// rounded to the nearest nanosecond, halves up, from their digits, without a
// float in between, so writing and reading again changes nothing.
//
// A job has two classes: TrueLong, which groups results and follows
// from its durations, and DeclaredLong, which the scheduler receives and
// which follows from its estimate. They differ where a trace states another mean
// than its durations have, and after WrongClass and Undeclare.
//
// # Refusals
//
// Reading stops at the first fault with a *ParseError that names file, line
// and column and names what was expected there. Everything that could grow without
// end in a file is bounded: MaxTasksPerJob, MaxJobs, MaxTasks, MaxSeconds.
//
// # The ec2 generator against the traces
//
// gen:ec2 is a model of the Google sample of the Pigeon paper's EC2 experiment
// (the ngo trace files): quantile tables per class, one for fan-out, two for
// the mean task duration (jobs of one task, of several), two for how the tasks
// of a job differ. Measured by TestEC2ResemblesTheTraces with 50,000 jobs of
// seed 1 against the 5,001 jobs of ngo_90 (Kolmogorov-Smirnov distance: the
// largest difference between two cumulative distributions, 0 to 1):
//
//	                                  burst=true   steady (default)
//	fan-out                           0.001        0.002
//	mean task duration                0.013        0.009
//	task duration                     0.054        0.040
//	inter-arrival over its mean       0.009        0.009
//	share of jobs that are long       0.101        0.100  (trace 0.101)
//	share of work that is long        0.894        0.877  (trace 0.886)
//	work arriving in first fifth      0.902        0.175  (trace 0.900)
//
// The files are bursts: their long jobs arrive in the first sixth of the span.
// The default spreads them evenly, so that a short run has a load that means
// something; burst=true resembles the files. The shares of work move by 0.01
// with the seed, because a few jobs are a thousand times the mean.
package workload
