package slots

import (
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// attempt is an attempt at a worker, from its launch to its end, with the data that the
// core does not see.
//
//	launched ──Start──▶ running ──Suspend──▶ suspended
//	    │                │    ◀────Resume───────┘  │
//	    ▼                └──────── ended ◀─────────┘
//	 waiting ──Start──▶ running; or killed before that, and forgotten
type attempt struct {
	wire.Extra  // of the launch
	id          sched.AttemptID
	class       sched.Class
	app         string
	distributor sched.Addr
	owner       string // for whom it runs
	estimate    sched.Time
	received    time.Time
	since       time.Time     // when it began or resumed, while it runs
	ran         time.Duration // before since
	worker      *worker
	phase       phase
	paused      bool            // it was suspended before, or is
	backend     backend.Backend // once it has started; nil for a duplicate
	apart       bool            // it gets a guard of its own
	duplicate   bool            // it was started before: nothing was started
	continued   bool            // an earlier process has started it
	killed      bool            // Kill of its backend was called
	lapses      int             // of the registration, when it arrived
	cut         string          // why it was stopped while the node was cut off, "" if it was not
	limits      api.Limits      // of its own, or of the node
	unbegun     bool            // its program may not have begun, which its backend will report
	before      time.Duration   // of its service, until its program began
	timer       *time.Timer     // ends it at its time limit; nil while none is due
	overtime    bool            // it was ended at its time limit
}

// phase is the state of an attempt at its worker.
type phase uint8

const (
	waiting   phase = iota // in the worker's own queue
	running                // in a slot
	suspended              // started, and stopped for now
)

// String returns the phase's word.
func (p phase) String() string { return [...]string{"waiting", "running", "suspended"}[p] }

// service returns how long the attempt has run so far.
func (a *attempt) service() time.Duration {
	if a.phase == running {
		return a.ran + time.Since(a.since)
	}
	return a.ran
}

// mattersWhenItBegins reports whether the backend is to report the beginning of the attempt's program: it has a time
// limit, or files that are fetched first, so that its service begins long before.
func (a *attempt) mattersWhenItBegins() bool {
	if len(a.Payloads) == 0 || a.Payloads[0].Backend != api.BackendExec {
		return false
	}
	return a.limits.Time > 0 || len(a.Payloads[0].Stage) > 0
}

// programRan returns how long the program of an attempt has run: the part of its service that its time limit
// bounds.
func (a *attempt) programRan() time.Duration { return a.service() - a.before }

// task returns the task for a backend.
func (a *attempt) task() backend.Task {
	return backend.Task{
		ID: a.id, JobName: a.JobName, TaskName: a.TaskID(a.id.Task, 0), App: a.app, Owner: a.owner, User: a.User, Group: a.UserGroup, Priority: a.UserPriority,
		HT: a.class == sched.Short, Frontend: a.SchedulerAddress, FrontendPeer: a.FrontendAddress, Slot: a.worker.number, Payload: a.Payload(0), Limits: a.limits, Contended: a.Contended, Alone: a.MaxDisconnect > 0, Apart: a.apart,
	}
}

// kill has the backend end an attempt that has started; the end arrives as an event.
func (a *attempt) kill() {
	if a.backend != nil {
		a.killed = true
		a.backend.Kill(a.id)
	}
}
