package logs

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend/guard"
)

// Stream is one of a process's two outputs.
type Stream uint8

// The streams.
const (
	Stdout Stream = iota
	Stderr
)

// suffix returns what the name of the stream's file adds to the attempt's name.
func (s Stream) suffix() string { return [...]string{".out", ".err"}[s] }

// attemptName returns the attempt's name inside its job's folder.
func attemptName(id sched.AttemptID) string { return fmt.Sprintf("%d.%d", id.Task, id.Attempt) }

// parseJob reads the name of a job's folder; the root may have others.
func parseJob(name string) (sched.JobID, bool) {
	if len(name) != 32 {
		return sched.JobID{}, false
	}
	hi, err1 := strconv.ParseUint(name[:16], 16, 64)
	lo, err2 := strconv.ParseUint(name[16:], 16, 64)
	id := sched.JobID{Hi: hi, Lo: lo}
	return id, err1 == nil && err2 == nil && id.String() == name
}

// parseAttempt reads the name of an attempt's folder or of one of its files.
func parseAttempt(job sched.JobID, name string) (sched.AttemptID, bool) {
	base := strings.TrimSuffix(name, guard.GapSuffix)
	base = strings.TrimSuffix(strings.TrimSuffix(base, Stdout.suffix()), Stderr.suffix())
	task, attempt, _ := strings.Cut(base, ".")
	t, err1 := strconv.ParseInt(task, 10, 32)
	a, err2 := strconv.ParseInt(attempt, 10, 32)
	id := sched.AttemptID{Job: job, Task: int32(t), Attempt: int32(a)}
	return id, err1 == nil && err2 == nil && attemptName(id) == base
}
