package api

import (
	"time"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Backend names what runs a task.
type Backend string

// The backends. BackendApp is a process of the application that speaks the
// published BackendService; the others are built into the node monitor.
const (
	BackendApp   Backend = ""
	BackendSleep Backend = "sleep"
	BackendExec  Backend = "exec"
)

// Payload is the work of a task. Exactly one part counts, by Backend.
type Payload struct {
	Backend Backend
	Message []byte        // BackendApp: opaque to Pigeon
	Sleep   time.Duration // BackendSleep
	Exec    *Exec         // BackendExec
	// Limits are what the task may use; nil for none of its own. The frontend sets them, and
	// Submitter, when it sends the payload: in a request they are those of the whole job.
	Limits *Limits
	// Submitter is the name of the person who submitted the job, as its frontend has proven it;
	// "" when it has not.
	Submitter string
	// Array gives the index of the task in its array; nil for none. The frontend sets it too.
	Array *Array
	// Stage is the files that the task finds in its working folder; the frontend sets it too. It is
	// not changed: the payloads of a job share it.
	Stage []StagedFile
}

// Exec is a process to run, without a shell.
type Exec struct {
	Argv []string // program and arguments; the program is searched in PATH
	Env  []string // KEY=value, beside PATH, HOME and the few others that every process has
	Dir  string   // working folder; "" for the attempt's own folder
	// Script is the text of a script; the node writes it to a file and runs that in place of the
	// program, whose name the file has. nil for none.
	Script []byte
	// Stdin is set when it takes standard input, which is given to it while it runs; else that is
	// empty.
	Stdin bool
}

// Task is one task of a request.
type Task struct {
	ID      string // the application's name for it; unique in the job
	Payload Payload
}

// Request is a job as an application submits it. See [Request.Validate] for the
// limits.
type Request struct {
	App         string
	User        string
	UserGroup   string // of the user; for the application's backends
	Owner       string // for whom the job runs: a path such as "team/alice"; "" is derived from the user
	Priority    int32  // among the jobs of the owner, higher ones first; for the application's backends too
	Name        string // what the work is, for learning its class; "" is derived from the program
	Description string
	Key         string // idempotency key; "" lets the frontend make a ULID
	Backend     Backend
	Class       string        // "short", "long", or "" to derive it
	Estimate    time.Duration // of one task; 0 for none
	EstimateSet bool          // an estimate was given, even an invalid one
	AvgMillis   float64       // published avgTasksExecDuration; 0 for none
	HT          bool          // some task carries the published isHT
	Retries     int           // of a task that fails by itself
	Restartable bool          // BackendExec: a task may be stopped and run again from the beginning
	NoSuspend   bool          // its tasks are never suspended for others
	// MaxDisconnect is how long a node may be cut off from its master before it stops
	// the job's tasks; only then are they started elsewhere. 0 sets no limit.
	MaxDisconnect time.Duration
	Limits        Limits       // of each task
	After         []After      // the jobs after which this one starts
	Array         Array        // the indices of its tasks
	MaxRunning    int          // at most so many of its tasks run at a time; 0: no limit
	Stage         []StagedFile // files that every attempt finds in its working folder
	// Submitter is the name of the person who submits, as the frontend that accepts the job has
	// proven it; it does not travel with the request.
	Submitter string
	// Frontend is the name of the only frontend that the client asks about the key: another
	// one refuses the job. With "" any frontend may be asked.
	Frontend string
	Trace    Trace
	Tasks    []Task
}

// Trace is a span's context as it travels: the two W3C headers.
type Trace struct{ Traceparent, Tracestate string }

// State is where a job stands.
type State string

// The states of a job.
const (
	StateHeld      State = "held" // until the jobs after which it starts have ended
	StateQueued    State = "queued"
	StateRunning   State = "running"
	StateCompleted State = "completed"
	StateFailed    State = "failed"
	StateCancelled State = "cancelled"
)

// Ended reports whether nothing more will happen to the job.
func (s State) Ended() bool {
	return s == StateCompleted || s == StateFailed || s == StateCancelled
}

// Status is a job as its frontend sees it. Times are Unix seconds of the
// frontend's clock, 0 for not yet.
type Status struct {
	Job       string  `json:"job"`                  // its id
	App       string  `json:"app,omitempty"`        // the application that submitted it
	State     State   `json:"state"`                // held, queued, running, completed, failed or cancelled
	Class     string  `json:"class"`                // short or long
	Tasks     int     `json:"tasks"`                // how many it has
	Running   int     `json:"running"`              // tasks that run
	Completed int     `json:"completed"`            // tasks that completed
	Failed    int     `json:"failed"`               // tasks that failed
	Attempts  int     `json:"attempts"`             // attempts that have a number: the first of each task, and one for each time that a task was tried again
	Submitted float64 `json:"submitted"`            // when its frontend accepted it, in Unix seconds
	Ended     float64 `json:"ended"`                // when its last task ended, in Unix seconds; 0: not yet
	Reason    string  `json:"reason"`               // why it failed or was cancelled, for what it is held, or what a task that succeeded has left running
	Seconds   float64 `json:"completion,omitempty"` // seconds from its submission to the end of its last task, by one clock
	Owner     string  `json:"owner,omitempty"`      // for whom it runs
	Priority  int32   `json:"priority,omitempty"`   // among the jobs of its owner
	Name      string  `json:"name,omitempty"`       // what the work is
	Submitter string  `json:"submitter,omitempty"`  // who submitted it, as was proven then
	Released  float64 `json:"released,omitempty"`   // when the jobs after which it starts had ended, in Unix seconds; left out while it is held, and where it waits for none
	Command   string  `json:"command,omitempty"`    // what its first task runs, cut after 200 bytes; left out for work of an application
}

// TaskStatus is one task of a job.
type TaskStatus struct {
	Task    int     `json:"task"`              // number in the job, from 0
	Attempt int     `json:"attempt"`           // number of the attempt, higher than those of earlier attempts of the task
	State   string  `json:"state"`             // queued, running, suspended: it continues after another task that runs in its slot, completed, failed, cancelled: it ran when its job was cancelled, or retried: another attempt followed
	Node    string  `json:"node,omitempty"`    // name of the node that runs it or ran it
	Seconds float64 `json:"elapsed,omitempty"` // seconds that the attempt ran, so far while it runs; none when that is not known
	Reason  string  `json:"reason,omitempty"`  // why it failed, or since when it is suspended and for which job
	Exit    int     `json:"exit,omitempty"`    // exit status of its process, 128 + n after signal n; 0 when none is known
	Code    string  `json:"code,omitempty"`    // why it failed, for programs: out_of_memory, time_limit, process_limit, above_node_limit or not_allowed
	Started float64 `json:"started,omitempty"` // when it began, in Unix seconds by the clock of its node; while it runs by that of its master, or of the frontend that launched it; none when it is not known
}

// TaskFile is a file that a task left in its working folder.
type TaskFile struct {
	Path       string `json:"path"`                 // relative to the folder, with / between names
	Size       int64  `json:"size"`                 // bytes
	Executable bool   `json:"executable,omitempty"` // by its user
}

// UnlistedFiles is the last line of a list of files that lacks some.
type UnlistedFiles struct {
	Unlisted int `json:"unlisted,omitempty"` // files whose names are not UTF-8
}

// Explanation is why a job waits, or why it ended as it did.
type Explanation struct {
	Status Status       `json:"status"`          // as of pigeon status
	Why    []string     `json:"why"`             // sentences, the most important first
	Groups []GroupShare `json:"groups"`          // what each group holds of the job
	Tasks  []TaskStatus `json:"tasks,omitempty"` // tasks that run or ended, as far as their frontend keeps them

	Completed []TaskStatus `json:"completed_tasks,omitempty"` // tasks that completed: the first 100 whose times their frontend knows

	Failed string `json:"failed_tasks,omitempty"` // numbers of the tasks that failed, such as 1,3,5-9, once the job has ended and as far as they are known

	ClassReason string `json:"class_reason,omitempty"` // how its class was decided, while the job has not ended

	Owners []OwnerShare `json:"owners,omitempty"` // the levels of the job's owner, the highest first, summed over the groups; none where there is one owner
	Ahead  []OwnerShare `json:"ahead,omitempty"`  // owners of these levels that are served before it, the first first, 10 at most

	Trace    string `json:"trace,omitempty"`     // id of its trace, where it is traced
	TraceURL string `json:"trace_url,omitempty"` // where its trace is shown, by the setting trace_url of its frontend
}

// GroupShare is what one group holds of a job, and how busy the group is.
type GroupShare struct {
	Group       int     `json:"group"`         // its number
	Reachable   bool    `json:"reachable"`     // whether its master answered; without an answer all else is 0
	Queued      int     `json:"queued"`        // tasks of the job in the queues of the group
	Running     int     `json:"running"`       // tasks of the job that run
	AheadShort  int     `json:"ahead_short"`   // tasks in the short queue of the group
	AheadLong   int     `json:"ahead_long"`    // tasks in the long queue of the group
	IdleGeneral int     `json:"idle_general"`  // idle workers that serve the job's application and take all tasks
	IdleReserve int     `json:"idle_reserved"` // idle workers that serve it and take short tasks only
	Serving     int     `json:"serving"`       // workers that serve the job's application
	OldestWait  float64 `json:"oldest_wait"`   // seconds that the task of the group has waited that has waited longest, of any class
	OldestShort float64 `json:"oldest_short"`  // the same, of the short ones
	OldestLong  float64 `json:"oldest_long"`   // the same, of the long ones

	Reason WaitReason `json:"reason,omitempty"` // why tasks of the job wait there: master_unreachable, no_worker, workers_idle, reserved_idle or workers_busy
}

// WaitReason is a code for why tasks wait at a master.
type WaitReason string

// The reasons.
const (
	WaitsForMaster  WaitReason = "master_unreachable" // the master does not answer
	WaitsForBackend WaitReason = "no_worker"          // no live worker serves the application
	WaitsAtLimit    WaitReason = "workers_idle"       // workers are idle, and a limit or the start of the master keeps the tasks from them
	WaitsForGeneral WaitReason = "reserved_idle"      // the idle workers are reserved for short tasks
	WaitsForWorker  WaitReason = "workers_busy"       // no worker is idle
)

// Node is one machine as its master sees it.
type Node struct {
	ID        string   `json:"node"`                // its name
	Group     int      `json:"group"`               // number of its group
	Address   string   `json:"address"`             // host:port where it serves other daemons
	Slots     int      `json:"slots"`               // tasks that it runs at a time
	Reserved  int      `json:"reserved"`            // slots that take short tasks only
	Busy      int      `json:"busy"`                // slots that run a task
	Apps      []string `json:"apps"`                // applications with an executor or a backend there
	Up        bool     `json:"up"`                  // whether its master can reach it
	Executors int      `json:"executors,omitempty"` // executors of applications there
	Owners    []string `json:"owners,omitempty"`    // for whom tasks run there, each owner once, as of the node's last report

	State        string  `json:"state"`             // up, draining, drained, unreachable, lost or stopped
	StateSeconds float64 `json:"state_seconds"`     // how long it has been in that state
	Reason       string  `json:"reason,omitempty"`  // why it is not up
	Version      string  `json:"version,omitempty"` // of its node monitor's binary

	SlotUse string `json:"slot_use,omitempty"` // two characters for each slot, as of the node's last report: . idle, s short, l long or b busy (_ S L B where only short tasks may run), and the index of the owner in owners, 0-9a-zA-Z, - for nobody in particular, + beyond

	SlotJobs []string `json:"slot_jobs,omitempty"` // the job in each slot, as of the node's last report; "" for none, and for one that its master does not know by name
}

// The states of a node, and of a frontend or master as others see it.
const (
	StateUp          = "up"
	StateDraining    = "draining"
	StateDrained     = "drained"
	StateUnreachable = "unreachable" // messages do not reach it, and it is not lost yet
	StateLost        = "lost"        // it was silent for so long that nothing is expected of it
	StateStopped     = "stopped"     // it announced that it stops
)

// DaemonState is a frontend as a master sees it, or a master as a frontend sees it.
type DaemonState struct {
	Name         string  `json:"name"`                // its id; of a master, its group's number
	Address      string  `json:"address"`             // host:port where it serves other daemons
	State        string  `json:"state"`               // up, unreachable, lost or stopped
	StateSeconds float64 `json:"state_seconds"`       // how long it has been in that state
	Reason       string  `json:"reason,omitempty"`    // why it is not up
	Version      string  `json:"version,omitempty"`   // of its binary
	Scheduler    string  `json:"scheduler,omitempty"` // host:port where a frontend that is registered serves applications
}

// MasterState is one group as its master sees it.
type MasterState struct {
	Group         int     `json:"group"`         // its number
	Epoch         uint64  `json:"epoch"`         // number of the incarnation of its master
	QueuedShort   int     `json:"queued_short"`  // tasks in the short queue
	QueuedLong    int     `json:"queued_long"`   // tasks in the long queue
	OldestShort   float64 `json:"oldest_short"`  // seconds that the oldest task of the short queue has waited
	OldestLong    float64 `json:"oldest_long"`   // seconds that the oldest task of the long queue has waited
	IdleGeneral   int     `json:"idle_general"`  // idle workers that take all tasks
	IdleReserved  int     `json:"idle_reserved"` // idle workers that take short tasks only
	BusyGeneral   int     `json:"busy_general"`  // busy workers that take all tasks
	BusyReserved  int     `json:"busy_reserved"` // busy workers that take short tasks only
	Workers       int     `json:"workers"`       // all of its workers, with those that take nothing: their nodes drain, say
	Launches      uint64  `json:"launches"`      // tasks that workers accepted
	Lost          uint64  `json:"lost"`          // launches that were lost with their node
	RefusedLaunch uint64  `json:"refused"`       // launches that a worker refused
	Nodes         []Node  `json:"nodes"`         // its nodes; null in the output of --groups

	Role    string        `json:"role,omitempty"`    // of the master: leader or standby; left out where masters have no standbys
	Leader  string        `json:"leader,omitempty"`  // host:port of the master that leads, as far as this one knows
	Masters []GroupMaster `json:"masters,omitempty"` // those of a group that has several

	Master    *DaemonState  `json:"master,omitempty"`    // its master, as the frontend that answers sees it
	Frontends []DaemonState `json:"frontends,omitempty"` // the frontends, as its master sees them
	Departed  []Node        `json:"departed,omitempty"`  // nodes that are lost, stopped or refused

	NATSFaults []string `json:"nats_faults,omitempty"` // a sentence about each NATS server that does not keep the leaderships, or the journal of the frontend that answers, as it should
}

// The roles of the masters of a group that has several.
const (
	Leader  = "leader"
	Standby = "standby"
)

// GroupMaster is one of the masters of a group that has several.
type GroupMaster struct {
	Address string `json:"address"` // host:port
	Role    string `json:"role"`    // leader or standby; "" when it could not be reached
}

// ClassOf derives a job's class (docs/design.md, section 3, Class): the field if set,
// else the estimate against the cutoff, else short if any task has isHT, else the
// application's default.
func ClassOf(r *Request, cutoff time.Duration, appDefault sched.Class) (c sched.Class, why string) {
	switch {
	case r.Class == "short":
		return sched.Short, "declared by the submitter"
	case r.Class == "long":
		return sched.Long, "declared by the submitter"
	}
	if e := r.Mean(); e > 0 {
		if e <= cutoff {
			return sched.Short, "estimate " + e.String() + " is within the cutoff " + cutoff.String()
		}
		return sched.Long, "estimate " + e.String() + " is above the cutoff " + cutoff.String()
	}
	if r.HT {
		return sched.Short, "a task is marked isHT"
	}
	return appDefault, "default: neither class nor estimate was given"
}

// Mean returns the estimated mean task duration, 0 when none was given.
func (r *Request) Mean() time.Duration {
	if r.Estimate > 0 {
		return r.Estimate
	}
	if r.AvgMillis > 0 {
		return time.Duration(r.AvgMillis * float64(time.Millisecond))
	}
	return 0
}
