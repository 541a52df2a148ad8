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

// Payload is what a task is to do. Exactly one part counts, by Backend.
type Payload struct {
	Backend Backend
	Message []byte        // BackendApp: opaque to Pigeon
	Sleep   time.Duration // BackendSleep
	Exec    *Exec         // BackendExec
}

// Exec is a process to run, without a shell.
type Exec struct {
	Argv []string // program and arguments; the program is searched in PATH
	Env  []string // KEY=value, added to the node monitor's own
	Dir  string   // working folder; "" for the attempt's own folder
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
	Trace       Trace
	Tasks       []Task
}

// Trace is a span's context as it travels: the two W3C headers.
type Trace struct{ Traceparent, Tracestate string }

// State is where a job stands.
type State string

// The states of a job.
const (
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
	Job       string  `json:"job"`
	App       string  `json:"app,omitempty"`
	State     State   `json:"state"`
	Class     string  `json:"class"`
	Tasks     int     `json:"tasks"`
	Running   int     `json:"running"`
	Completed int     `json:"completed"`
	Failed    int     `json:"failed"`
	Attempts  int     `json:"attempts"`
	Submitted float64 `json:"submitted"`
	Ended     float64 `json:"ended"`
	Reason    string  `json:"reason"`
	Seconds   float64 `json:"completion,omitempty"` // from submit to the last task's end, by one clock
}

// TaskStatus is one task of a job.
type TaskStatus struct {
	Task    int     `json:"task"`
	Attempt int     `json:"attempt"`
	State   string  `json:"state"`
	Node    string  `json:"node,omitempty"`
	Seconds float64 `json:"elapsed,omitempty"` // of the accepted attempt
	Reason  string  `json:"reason,omitempty"`
	Exit    int     `json:"exit,omitempty"` // status of a process, 128 + n after signal n; 0 when none is known
}

// Explanation tells why a job waits or why it ended so.
type Explanation struct {
	Status Status       `json:"status"`
	Why    []string     `json:"why"`    // sentences, most telling first
	Groups []GroupShare `json:"groups"` // what each group holds of the job
	Tasks  []TaskStatus `json:"tasks,omitempty"`
}

// GroupShare is what one group holds of a job, and how busy the group is.
type GroupShare struct {
	Group       int     `json:"group"`
	Reachable   bool    `json:"reachable"`
	Queued      int     `json:"queued"`
	Running     int     `json:"running"`
	AheadShort  int     `json:"ahead_short"` // tasks of the short queue in the group
	AheadLong   int     `json:"ahead_long"`
	IdleGeneral int     `json:"idle_general"`
	IdleReserve int     `json:"idle_reserved"`
	Serving     int     `json:"serving"` // workers that serve the job's application
	OldestWait  float64 `json:"oldest_wait"`
}

// Node is one machine as its master sees it.
type Node struct {
	ID       string   `json:"node"`
	Group    int      `json:"group"`
	Address  string   `json:"address"`
	Slots    int      `json:"slots"`
	Reserved int      `json:"reserved"`
	Busy     int      `json:"busy"`
	Apps     []string `json:"apps"`
	Up       bool     `json:"up"`
}

// MasterState is one group as its master sees it.
type MasterState struct {
	Group         int     `json:"group"`
	Epoch         uint64  `json:"epoch"`
	QueuedShort   int     `json:"queued_short"`
	QueuedLong    int     `json:"queued_long"`
	OldestShort   float64 `json:"oldest_short"` // seconds
	OldestLong    float64 `json:"oldest_long"`
	IdleGeneral   int     `json:"idle_general"`
	IdleReserved  int     `json:"idle_reserved"`
	BusyGeneral   int     `json:"busy_general"`
	BusyReserved  int     `json:"busy_reserved"`
	Workers       int     `json:"workers"`
	Launches      uint64  `json:"launches"`
	Lost          uint64  `json:"lost"`
	RefusedLaunch uint64  `json:"refused"`
	Nodes         []Node  `json:"nodes"`
}

// ClassOf derives a job's class (design.md, section 3, Class): the field if set,
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
