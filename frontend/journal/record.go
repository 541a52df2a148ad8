package journal

import (
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/classes"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Kind is the kind of a [Record].
type Kind uint8

// The kinds. All but Placed, Moved and Reclassed are acknowledged only when they are
// on the disk; these are written with the next of the others, because a lost
// placement costs one more distribution, and a lost class one more test of the
// cutoff.
const (
	Accepted   Kind = iota + 1 // Submission
	Placed                     // Job, First, Count, Attempt, Group
	NewAttempt                 // Job, First, Attempt, Losses, Retries, Outcome, Reason; Exit, Code, Began, Elapsed, Node and Apart of the attempt before
	TaskEnded                  // Job, First, Attempt, Outcome, Reason, Elapsed, At; without a report
	Cancelled                  // Job, Reason, At
	JobEnded                   // Job, Ended
	AppAt                      // App, Socket; an empty socket forgets the application
	Moved                      // as Placed: in a group that the tasks do not leave again
	Reclassed                  // Job, Class
	// NewAttempts is NewAttempt of Count tasks, from First on.
	NewAttempts
	// Lost is NewAttempt after the loss of a Node that counts, whose Elapsed, Exit, Code and Began
	// are known if it reported the attempt, or of its guard (Apart); NotLost takes it back:
	// Job, First, Node.
	Lost
	NotLost
	// TaskReported is TaskEnded by the report of a Node; of a failure also Exit, Code and Began.
	TaskReported
	// Met says that a job, number First of those after which this one starts, has ended as it
	// must have: Job, First, At. With the last of them this one is released.
	Met
	// failure is no record of its own: it says more of the one before it, which is about the
	// failure of an attempt (attempts.go).
	failure
	// Stopped says where an attempt at a task of a cancelled job was stopped. It follows the
	// job's end: Job, First, Attempt, Node, Elapsed, Began.
	Stopped
	numKinds
)

// String returns the kind's name.
func (k Kind) String() string {
	if k == 0 || k >= numKinds {
		return "unknown"
	}
	return [...]string{"accepted", "placed", "new attempt", "task ended", "cancelled", "job ended", "application at", "moved", "reclassed", "new attempts", "lost", "not lost", "task reported", "met", "failure", "stopped"}[k-1]
}

// Record is one fact to keep. It is flat, as [sched.Message] is, and its Kind
// decides which fields count. A record about a job that the journal does not
// hold, or that has ended, changes nothing; Stopped alone is about a job that has ended.
type Record struct {
	Kind    Kind
	Losses  uint8 // attempts lost so far
	Retries uint8 // own failures retried so far
	Outcome sched.Outcome
	Class   sched.Class
	First   int32 // the task, or the first of a range
	Count   int32
	Attempt int32
	Group   int32 // the group's number, stable over restarts
	Job     sched.JobID
	Elapsed time.Duration // of the accepted attempt, of the one before, or of the one that was stopped
	Began   int64         // when that began, Unix nanoseconds of its node's wall clock; 0: not known
	Exit    int           // its exit status, 128 + n after signal n
	Apart   bool          // it was lost with its guard
	Code    string        // its code, one of api.FailureCodes; "": none
	At      int64         // Unix nanoseconds of this host's wall clock
	Reason  string
	Node    string
	App     string // AppAt
	Socket  string // AppAt: where the application listens, host:port

	Submission *Submission // Accepted
	Ended      *Ended      // JobEnded
}

// Submission is a job as it was accepted.
type Submission struct {
	Job       sched.JobID
	Class     sched.Class
	Why       string // how the class was decided
	Submitted int64  // Unix nanoseconds of this host's wall clock
	Attempt   int32  // number of its tasks' first attempts; 0 is 1
	Request   api.Request

	Origin   classes.Origin // from what the class was decided
	Estimate time.Duration  // of one task, if it is not what the request declares

	Fingerprint string // of the request; "" from a program that made none
	Shared      bool   // its key is one of the whole cluster
	Bytes       int64  // that the request holds in memory; not journaled
	// Ended are the states of those jobs after which it starts that had ended by its submission,
	// as far as the journal knew them; not journaled.
	Ended   map[sched.JobID]api.State
	Bounded bool // its submitter may hold a part of the frontend's bounds only; not journaled
}

// Ended is what is kept of a job for the retention: its key, so that a repeated
// submission is recognised, and its last status.
type Ended struct {
	Job    sched.JobID
	Key    string
	At     int64 // set by the journal: its age at the end, in nanoseconds
	Status api.Status

	Fingerprint string    // of its request; "" from a program that made none
	Results     []byte    // of its tasks, as the frontend keeps them; nil for none
	Earlier     []byte    // of attempts that others followed, likewise
	Times       []byte    // of when attempts ran, likewise
	Trace       api.Trace // with which its span is resumed; zero where it was not sampled
	Usage       Usage
	Stopped     []StoppedTask // where tasks of a cancelled job were stopped; kept under keys of their own
}

// StoppedTask is a task of a cancelled job that was stopped: its attempt, where and how long that ran,
// and when it began, as in [Record].
type StoppedTask struct {
	Task, Attempt int32
	Node          string
	Elapsed       time.Duration
	Began         int64
}

// Usage is what a job has used so far.
type Usage struct {
	Slot  time.Duration // how long the attempts whose results count had a slot
	Lost  time.Duration // likewise of others that have ended, as far as their nodes reported them
	Again int           // attempts that were followed by another one

	Started           bool          // a task is known to have started
	Wait, LongestWait time.Duration // until the first and the last task started
}

// Job is one unfinished job as read back: what was accepted, and everything
// recorded of it since, in the order of the journal. Events is valid only during
// the visit; everything else may be kept. Equal payloads share their memory, so they
// must not be changed.
type Job struct {
	Submission *Submission
	Events     []Record
}
