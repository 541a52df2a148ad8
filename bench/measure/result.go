package measure

// Result is what a run prints: one JSON object. Times are seconds of the
// workload's own time (a live run that was sped up is multiplied back).
type Result struct {
	// Mode is "sim" or "live".
	Mode    string  `json:"mode"`
	Policy  string  `json:"policy"`
	Trace   string  `json:"trace"`
	Seed    uint64  `json:"seed"`
	Workers int     `json:"workers"`
	Groups  int     `json:"groups"`
	Jobs    int     `json:"jobs"`
	Tasks   int     `json:"tasks"`
	Load    Number  `json:"load"`
	Short   Summary `json:"short"`
	Long    Summary `json:"long"`
	All     Summary `json:"all"`
	// Completed and Failed count jobs; what is in neither had not ended.
	Completed int `json:"completed"`
	Failed    int `json:"failed"`
	// Attempts counts launches that a worker accepted.
	Attempts           int64  `json:"attempts"`
	MessagesPerTask    Number `json:"messages_per_task"`
	SuspensionsPerTask Number `json:"suspensions_per_task"`
	// Utilization is the busy share of the workers' time over the makespan.
	Utilization Number `json:"utilization"`
	// Makespan is from the first arrival to the last completion.
	Makespan Number `json:"makespan"`
	// Wall is how long the run took on a clock on the wall.
	Wall   Number `json:"wall"`
	Events int64  `json:"events"`
	Bound  Bound  `json:"bound"`
	// Live is set in live runs only; its keys stand beside the others.
	*Live
	// Partial says that the run was ended before its workload.
	Partial bool `json:"partial,omitempty"`
}

// Live holds what only a live run measures.
type Live struct {
	// CPUPerTask is seconds of all daemons' processor time per task.
	CPUPerTask Number `json:"cpu_per_task"`
	// RSSMax is the peak resident memory of all daemons, in bytes.
	RSSMax         int64  `json:"rss_max"`
	TasksPerSecond Number `json:"tasks_per_second"`
}

// Summary describes the completed jobs of a class.
type Summary struct {
	Jobs       int          `json:"jobs"`
	Completion Distribution `json:"completion"`
	// Queueing is over tasks, all else over jobs.
	Queueing Distribution `json:"queueing"`
	// Slowdown leaves out jobs whose tasks all have length 0.
	Slowdown Distribution `json:"slowdown"`
	// Unqueued is the share of jobs that completed within their longest task
	// plus the tolerance.
	Unqueued Number `json:"unqueued"`
}

// Bound holds completion times that no policy passes.
type Bound struct {
	LongestTask ByClass `json:"longest_task"`
	// Clairvoyant is set when it was asked for.
	Clairvoyant *ByClass `json:"clairvoyant,omitempty"`
}

// ByClass is a distribution for each true class.
type ByClass struct {
	Short Distribution `json:"short"`
	Long  Distribution `json:"long"`
}

// Facts is what a run knows beyond its jobs: everything of a Result that is
// not a distribution.
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
}
