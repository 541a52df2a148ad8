package measure

// Result is what a run prints: one JSON object. Times are seconds of the
// workload's own time (a live run that was sped up is multiplied back).
type Result struct {
	Mode               string        `json:"mode"`                   // sim or live
	Policy             string        `json:"policy"`                 // as it was named
	Trace              string        `json:"trace"`                  // file or generator
	Seed               uint64        `json:"seed"`                   // of all draws
	Workers            int           `json:"workers"`                // of the cluster
	Groups             int           `json:"groups"`                 // of the cluster
	Jobs               int           `json:"jobs"`                   // of the workload
	Tasks              int           `json:"tasks"`                  // of the workload
	Load               Number        `json:"load"`                   // work / (workers x span of arrivals)
	Short              Summary       `json:"short"`                  // jobs that are short in truth
	Long               Summary       `json:"long"`                   // jobs that are long in truth
	All                Summary       `json:"all"`                    // all jobs
	Completed          int           `json:"completed"`              // jobs that completed
	Failed             int           `json:"failed"`                 // jobs that failed; the others had not ended
	Attempts           int64         `json:"attempts"`               // launches that a worker accepted
	MessagesPerTask    Number        `json:"messages_per_task"`      // messages between cores; a batch of k tasks counts k
	SuspensionsPerTask Number        `json:"suspensions_per_task"`   // how often a running task was stopped for another one
	Utilization        Number        `json:"utilization"`            // busy share of the workers' time over the makespan
	Makespan           Number        `json:"makespan"`               // from the first arrival to the last completion
	Wall               Number        `json:"wall"`                   // how long the run took
	Events             int64         `json:"events"`                 // of the simulator, or inputs of the cores of a live run
	References         References    `json:"bound"`                  // completion times to set it against
	Owners             []OwnerResult `json:"owners,omitempty"`       // by name, when jobs have owners
	Others             *ByClass      `json:"others,omitempty"`       // completion times of the jobs of all owners but the one that floods
	OthersAlone        *ByClass      `json:"others_alone,omitempty"` // in a comparison, the same in the same run without the flood
	Fairness           *Fairness     `json:"fairness,omitempty"`     // how the owners' use agrees with their weights
	Wide               *WideResult   `json:"wide,omitempty"`         // of a simulated run with tasks of several slots or gangs
	*Live
	Partial bool `json:"partial,omitempty"` // the run was ended before its workload
}

// Live holds what only a live run measures.
type Live struct {
	CPUPerTask     Number `json:"cpu_per_task"`     // seconds of all daemons' processor time
	RSSMax         int64  `json:"rss_max"`          // peak resident memory of all daemons, in bytes
	TasksPerSecond Number `json:"tasks_per_second"` // tasks of completed jobs over the time from the first arrival to the last completion

	OthersCPU *Number `json:"others_cpu,omitempty"` // share of the machine's processor time that other programs used during the run; left out where it is not known
}

// NoteOthers records what others used during a live run that has ended with its daemons.
func (r *Result) NoteOthers(o *Others) {
	if share, known := o.Share(); known && r.Live != nil {
		n := Number(share)
		r.OthersCPU = &n
	}
}

// AboutOthers returns the line about other programs during a live run, "" when they do not matter.
func (r *Result) AboutOthers() string {
	if r.Live == nil || r.OthersCPU == nil {
		return ""
	}
	return SayOthers(float64(*r.OthersCPU))
}

// Summary describes the completed jobs of a class.
type Summary struct {
	Jobs       int          `json:"jobs"`       // that completed
	Completion Distribution `json:"completion"` // seconds from arrival to the report of the last task, over jobs
	Queueing   Distribution `json:"queueing"`   // seconds a task waited, over tasks
	Slowdown   Distribution `json:"slowdown"`   // completion over the longest task, over jobs whose tasks are not all of length 0
	Unqueued   Number       `json:"unqueued"`   // share of jobs that completed within their longest task plus the tolerance
}

// References holds completion times to set those of a policy against: a bound, which none is below, and a
// reference, which is no bound.
type References struct {
	LongestTask ByClass  `json:"longest_task"`          // each job's longest task: no queueing at all, which no policy is below
	Clairvoyant *ByClass `json:"clairvoyant,omitempty"` // of preemptive shortest remaining work over all workers, when it was computed; percentiles of a policy may be below
}

// ByClass is a distribution for each true class.
type ByClass struct {
	Short Distribution `json:"short"` // of short jobs
	Long  Distribution `json:"long"`  // of long jobs
}

// ClassNames returns the names of classes 0 and 1.
func ClassNames() [2]string { return [2]string{"short", "long"} }

// Class returns the summary of a class, 0 short and 1 long.
func (r *Result) Class(class int) *Summary { return [...]*Summary{&r.Short, &r.Long}[class] }

// Class returns the distribution of a class, 0 short and 1 long.
func (b *ByClass) Class(class int) *Distribution {
	return [...]*Distribution{&b.Short, &b.Long}[class]
}

// Facts holds everything of a Result that is neither a distribution nor counted from
// the jobs.
type Facts struct {
	Mode, Policy, Trace string
	Seed                uint64
	Workers, Groups     int
	Jobs, Tasks         int // of the workload, completed or not
	Load                float64
	Attempts            int64
	// Messages counts core messages between roles, Suspensions stopped tasks.
	Messages, Suspensions int64
	// Busy is the sum over workers of the time they ran tasks, in ns as run.
	Busy int64
	// Wall is the duration of the run, in ns.
	Wall int64
	// Events counts the simulator's events, or the cores' inputs of a live run.
	Events  int64
	Partial bool
	Live    *Live
	// Wide is what tasks of several slots and gangs were given, nil without any; its Held in ns.
	Wide *WideResult
	// Shares measured the owners' use, if that was observed.
	Shares *Shares
}
