package api

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// Limits are what one task may use. A value of 0 is no limit of the task's own: the node may
// have one.
type Limits struct {
	Memory int64         // bytes, of all its processes together
	CPUs   float64       // processors, 1.5 for one and a half
	Time   time.Duration // that it may run, without suspensions
}

// Bounds of the limits of a task.
const (
	MinMemory    = 1 << 20 // bytes
	MaxMemory    = 1 << 50
	MinCPUs      = 0.01
	MaxCPUs      = 100_000
	MinTimeLimit = time.Millisecond
	MaxTimeLimit = 365 * 24 * time.Hour
)

// The codes of failures, for programs ([TaskStatus].Code).
const (
	CodeOutOfMemory    = "out_of_memory"    // it needed more memory than its limit
	CodeTimeLimit      = "time_limit"       // it ran for longer than its limit
	CodeProcessLimit   = "process_limit"    // it failed when it had as many processes and threads as its node allows
	CodeAboveNodeLimit = "above_node_limit" // it was not started: it requested more than its node allows
	CodeNotAllowed     = "not_allowed"      // it was not started: its submitter may not run there, or was not proven
)

// FailureCodes returns all codes of failures.
func FailureCodes() []string {
	return []string{CodeOutOfMemory, CodeTimeLimit, CodeProcessLimit, CodeAboveNodeLimit, CodeNotAllowed}
}

// equal reports whether both are the same limits; nil are none.
func (l *Limits) equal(o *Limits) bool {
	if l == nil || o == nil {
		return l == o
	}
	return *l == *o
}

// Validate returns an *[Error] for limits that no task of any backend can have.
func (l *Limits) Validate() error {
	what, next := l.fault(BackendExec)
	if what == "" {
		return nil
	}
	return &Error{Problem: Invalid, What: what, Subject: "a task's limits", Tried: "reading them", Next: next}
}

// fault returns what is wrong with the limits for tasks of a backend and what to do about it,
// "" when nothing.
func (l *Limits) fault(b Backend) (what, next string) {
	switch {
	case *l == Limits{}:
		return "", ""
	case b == BackendApp:
		return "it limits its tasks (" + l.String() + "), and Pigeon neither sees nor stops what runs in a process of the application", "leave the limits out, or use the exec backend"
	case l.Memory != 0 && (l.Memory < MinMemory || l.Memory > MaxMemory):
		return fmt.Sprintf("its memory limit is %d bytes", l.Memory), fmt.Sprintf("use %s to %s for a task, or leave it out", FormatBytes(MinMemory), FormatBytes(MaxMemory))
	case math.IsNaN(l.CPUs) || l.CPUs != 0 && (l.CPUs < MinCPUs || l.CPUs > MaxCPUs):
		return fmt.Sprintf("its limit of processors is %v", l.CPUs), fmt.Sprintf("use %v to %d for a task, 1.5 for one and a half, or leave it out", MinCPUs, MaxCPUs)
	case l.Time != 0 && (l.Time < MinTimeLimit || l.Time > MaxTimeLimit):
		return fmt.Sprintf("its time limit is %v", l.Time), fmt.Sprintf("use %v to %v for a task, or leave it out", MinTimeLimit, MaxTimeLimit)
	}
	return "", ""
}

// String returns the limits in the form of the flags of `pigeon submit`, "none" for none.
func (l Limits) String() string {
	var list []string
	if l.Memory != 0 {
		list = append(list, "memory "+FormatBytes(l.Memory))
	}
	if l.CPUs != 0 {
		list = append(list, fmt.Sprintf("cpus %v", l.CPUs))
	}
	if l.Time != 0 {
		list = append(list, fmt.Sprintf("time limit %v", l.Time))
	}
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, ", ")
}

// GoString implements [fmt.GoStringer]: the fingerprint of a request must not change when a
// limit is added that the request does not have.
func (l Limits) GoString() string {
	return fmt.Sprintf("{%d %v %d}", l.Memory, l.CPUs, int64(l.Time))
}
