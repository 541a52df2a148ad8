package sched

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
)

// Time is an instant, or a length of time, in nanoseconds. As an instant it
// counts from the start of the run of the process that made it; instants of two
// processes are never compared.
type Time int64

// Lengths of time, in the unit of [Time]. The time package stays outside the
// cores so that no clock can slip in with it.
const (
	Microsecond Time = 1_000
	Millisecond Time = 1_000_000
	Second      Time = 1_000_000_000
)

// Role is what a core does in the scheduler.
type Role uint8

// The roles. Shell is not a core: it stands for the daemon or simulator around
// one, as the sender of what only it can know (a lost peer, a due timer, an
// ended process).
const (
	Shell Role = iota
	Distributor
	Master
	Worker
)

// String returns the role's word.
func (r Role) String() string {
	switch r {
	case Distributor:
		return "distributor"
	case Master:
		return "master"
	case Worker:
		return "worker"
	default:
		return "shell"
	}
}

// Addr names a core. ID is dense within its role and has a meaning only inside
// one process: the shell maps it to whatever names the peer on the wire.
type Addr struct {
	Role Role
	ID   int32
}

// Everyone is the ID of an address that means all cores of its role: the shell
// sends a copy to each known peer.
const Everyone int32 = -1

// MaxID is the highest number of a core in its role. Cores keep tables by id;
// this bounds them.
const MaxID int32 = 1<<24 - 1

// MaxEpoch is the highest epoch. No number of restarts reaches it; one above it is forged
// or damaged, and would leave no epoch for the masters to come.
const MaxEpoch = 1 << 53

// String returns the address as "role id", for descriptions and recordings.
func (a Addr) String() string { return fmt.Sprintf("%s %d", a.Role, a.ID) }

// JobID names a job across the whole cluster: 128 bits of a hash over a scope and the job's
// key, so that equal keys at two frontends are two jobs and the same key at one frontend is one.
type JobID struct{ Hi, Lo uint64 }

// JobScope is where the keys of jobs are unique: a frontend with its journal. A frontend that has
// lost its journal has another scope, so that nothing which other daemons still hold of its former
// jobs is taken for that of a job of the same key (docs/adr/0072-scope-of-job-ids.md).
type JobScope string

// NewJobID derives the id of the job with the given key in the given scope.
func NewJobID(scope JobScope, key string) JobID {
	sum := sha256.Sum256([]byte(string(scope) + "\x00" + key))
	return JobID{binary.BigEndian.Uint64(sum[:8]), binary.BigEndian.Uint64(sum[8:16])}
}

// String prints the id as 32 hexadecimal digits.
func (j JobID) String() string { return fmt.Sprintf("%016x%016x", j.Hi, j.Lo) }

// AttemptID names one try at one task. Attempts are numbered by the distributor alone,
// upwards, from the first number of its life: 1 in the first.
type AttemptID struct {
	Job     JobID
	Task    int32
	Attempt int32
}

// String prints the attempt as job/task#attempt.
func (a AttemptID) String() string { return fmt.Sprintf("%s/%d#%d", a.Job, a.Task, a.Attempt) }

// Class is one of the two classes of jobs. Code indexes by it and does not
// branch on it.
type Class uint8

// The classes, in the order of their priority.
const (
	Short Class = iota
	Long
	NumClasses = 2
)

// String returns the class's word.
func (c Class) String() string {
	if names := [...]string{"short", "long"}; int(c) < len(names) {
		return names[c]
	}
	return fmt.Sprintf("Class(%d)", uint8(c))
}

// Outcome is how an attempt, a task or a job ended.
type Outcome uint8

// The outcomes. Killed is the end of an attempt that a cancel or a better
// attempt stopped; Lost is an attempt whose worker was lost; Yielded is one that
// was stopped and waits to be started again.
const (
	Unfinished Outcome = iota
	Done
	Failed
	Killed
	Lost
	Yielded
)

// String returns the outcome's word.
func (o Outcome) String() string {
	if names := [...]string{"unfinished", "done", "failed", "killed", "lost", "yielded"}; int(o) < len(names) {
		return names[o]
	}
	return fmt.Sprintf("Outcome(%d)", uint8(o))
}

// Seconds returns the length of time as a number, for people and metrics.
func (t Time) Seconds() float64 { return float64(t) / float64(Second) }
