package workload

// Limits of one workload. They bound the memory that a file or a generator's
// arguments can ask for; each refusal names the one it met.
const (
	// MaxTasksPerJob bounds the fan-out of a job.
	MaxTasksPerJob = 100_000
	// MaxJobs bounds the jobs of a workload.
	MaxJobs = 10_000_000
	// MaxTasks bounds the tasks of a workload (800 MB of durations).
	MaxTasks = 100_000_000
	// MaxSeconds bounds each time, and the work of one job. It leaves room
	// for an arrival plus a job's work in an int64 of nanoseconds.
	MaxSeconds = 4_000_000_000
)

// Workload is a list of jobs in order of arrival.
type Workload struct {
	// Name is the file or specification it came from, for reports.
	Name string
	// Jobs is ordered by Arrival; jobs that arrive together keep file order.
	Jobs []Job
}

// Job is one job of a workload. Times are in nanoseconds.
type Job struct {
	// Line is the line number in the trace, from 1. It is the job's key: every draw
	// for a job is from (seed, key), simulated and live alike.
	Line int
	// Arrival is when the job is submitted, on the workload's own time axis.
	Arrival int64
	// Estimate is the mean task duration as the submitter states it, 0 if it states none.
	Estimate int64
	// Owner is the owner for which the job runs, "" for none in particular.
	Owner string
	// Priority is that of the job among those of its owner, higher ones first.
	Priority int32
	// Name is that of the work, which other jobs of the owner may have too; "" for none.
	Name string
	// Slots is how many slots of one node each task takes; 0 is one.
	Slots int32
	// Gang: the tasks start together or not at all.
	Gang bool
	// Durations has one entry per task. It is shared between workloads that
	// were derived from one another: read it, never write it.
	Durations []int64
	// DeclaredLong is the class that the scheduler receives.
	DeclaredLong bool
	// Undeclared: the submitter states neither a class nor an estimate.
	Undeclared bool
	// TrueLong is the class that results are grouped by.
	TrueLong bool
}

// Class returns the index of a class: 0 short, 1 long.
func Class(long bool) int {
	if long {
		return 1
	}
	return 0
}

// TrueClass returns the index of the job's true class.
func (j *Job) TrueClass() int { return Class(j.TrueLong) }

// Work is the sum of the job's task durations, each times the slots that it takes, in ns.
func (j *Job) Work() int64 { return j.sum() * int64(j.Width()) }

// Width is how many slots of one node each task takes.
func (j *Job) Width() int32 { return max(1, j.Slots) }

// IsUnit reports whether the job's tasks take one slot each, and start one by one.
func (j *Job) IsUnit() bool { return j.Slots <= 1 && !j.Gang }

// Mean is the mean duration of the job's tasks, in ns.
func (j *Job) Mean() int64 { return j.sum() / int64(max(1, len(j.Durations))) }

func (j *Job) sum() (sum int64) {
	for _, d := range j.Durations {
		sum += d
	}
	return sum
}

// Longest is the job's longest task, in ns: no schedule completes it sooner.
func (j *Job) Longest() int64 {
	var longest int64
	for _, d := range j.Durations {
		longest = max(longest, d)
	}
	return longest
}

// Tasks counts the tasks of all jobs.
func (w *Workload) Tasks() int {
	n := 0
	for i := range w.Jobs {
		n += len(w.Jobs[i].Durations)
	}
	return n
}

// FirstTasks returns the number of each job's first task, counted over all jobs.
func (w *Workload) FirstTasks() []int {
	first, n := make([]int, len(w.Jobs)), 0
	for i := range w.Jobs {
		first[i] = n
		n += len(w.Jobs[i].Durations)
	}
	return first
}

// Work is the sum of all task durations, in ns. It is a float because the
// work of a large trace exceeds the range of an int64 of nanoseconds.
func (w *Workload) Work() float64 {
	sum := 0.0
	for i := range w.Jobs {
		sum += float64(w.Jobs[i].Work())
	}
	return sum
}

// Span is the time from the first arrival to the last, in ns.
func (w *Workload) Span() int64 {
	if len(w.Jobs) == 0 {
		return 0
	}
	return w.Jobs[len(w.Jobs)-1].Arrival - w.Jobs[0].Arrival
}

// Load is work / (workers x span): the share of the workers' time that the
// jobs need while they arrive. It is 0, meaning that none can be stated,
// when there are no workers or all jobs arrive at once.
func (w *Workload) Load(workers int) float64 {
	span := w.Span()
	if span == 0 || workers <= 0 {
		return 0
	}
	return w.Work() / (float64(workers) * float64(span))
}

// with returns a workload of the same name with a copy of the jobs, which the
// caller may change (their Durations stay shared).
func (w *Workload) with() *Workload {
	return &Workload{Name: w.Name, Jobs: append([]Job(nil), w.Jobs...)}
}
