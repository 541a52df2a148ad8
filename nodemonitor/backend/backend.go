package backend

import (
	"fmt"
	"strconv"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Task is one attempt at one task, as a slot hands it to a backend.
type Task struct {
	ID       sched.AttemptID
	JobName  string // the job's id as users know it; requestId on the published wire
	TaskName string // the application's name for the task; taskId on the published wire
	App      string
	User     string
	Group    string // of the user, as the application gave it
	Priority int32  // of the user, as the application gave it
	HT       bool   // the published isHT, handed through to the application's backend
	Frontend string // host:port of the frontend; schedulerAddress on the published wire
	// FrontendPeer is host:port of the frontend for daemons, "" when it is not known.
	FrontendPeer string
	Slot         int32
	Payload      api.Payload
	// Limits are what it may use here: its own, or those of the node.
	Limits api.Limits
	// Owner is for whom it runs.
	Owner string
	// Alone is set when no other attempt of the task may begin before this one has ended.
	Alone bool
	// Apart is set when the guard of an earlier attempt ended under it: the attempt runs under one of its own.
	Apart bool
	// Note describes the attempt to a later process of the node monitor; nil when none can
	// take it over.
	Note []byte
	// Began is called by any goroutine, before done is, when the program of an exec task has begun, which may be
	// long after Start; nil for nothing.
	Began func()
	// Contended is set when tasks of other applications or owners that are as urgent waited at the
	// launch.
	Contended bool
}

// Short names the task to who knows its job: by its number, and by its id where that is another.
func (t *Task) Short() string {
	if number := strconv.Itoa(int(t.ID.Task)); t.TaskName == "" || t.TaskName == number {
		return number
	}
	return fmt.Sprintf("%d (%q)", t.ID.Task, t.TaskName)
}

// On names the task and its node in a reason, whose reader knows which job it is about.
func (t *Task) On(node string) string { return fmt.Sprintf("task %s on node %q", t.Short(), node) }

// Subject names the task where its job is not known.
func (t *Task) Subject() string {
	return fmt.Sprintf("task %q (number %d, attempt %d) of job %q", t.TaskName, t.ID.Task, t.ID.Attempt, t.JobName)
}

// Result is how an attempt ended.
type Result struct {
	ID       sched.AttemptID
	Outcome  sched.Outcome // Done, Failed, Killed, Lost or Yielded
	Reason   string        // for users; "" for a plain Done
	ExitCode int           // of a process; 128 + n after signal n, as shells have it
	Tail     []byte        // end of stderr, as much of it as the guard keeps
	Code     string        // of a failure: one of the codes of package api, "" for none of them
	Peak     int64         // bytes of memory that its processes had at most, 0 when it is not known

	// Together is how many attempts and executors, this attempt included, were lost with their guard; 0 for
	// another end.
	Together int

	// Started and Finished carry the monotonic clock. Both are zero when the
	// attempt never began.
	Started, Finished time.Time
}

// Backend runs tasks. All methods may be called from any goroutine and return
// at once, Close excepted.
type Backend interface {
	// Start runs the task and calls done once when it ended. The attempt must
	// not be running here already.
	Start(t Task, done func(Result))
	// Kill stops the attempt; its end comes as Killed. An unknown or ended
	// attempt is ignored.
	Kill(id sched.AttemptID)
	// Close kills what runs and returns when every done has been called and
	// nothing of the backend is left. It is safe twice. What is started
	// afterwards ends as Killed.
	Close()
}

// Suspender is a backend whose attempts can be suspended and resumed. Both methods
// are safe to repeat; the error names an attempt that does not run here.
type Suspender interface {
	Suspend(id sched.AttemptID) error
	Resume(id sched.AttemptID) error
}

// NotRunning returns the error for an attempt that a backend does not run.
func NotRunning(id sched.AttemptID, tried string) error {
	return &api.Error{
		Problem: api.NotFound, What: "no such attempt runs here", Subject: "attempt " + id.String(),
		Tried: tried, Next: "it has ended, or was never started on this node; ask its frontend for the job's status",
	}
}

// Stopping is the reason of attempts that end with their node monitor.
const Stopping = "its node monitor is stopping"
