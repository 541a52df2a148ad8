package process

import (
	"fmt"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend/guard"
)

// shortWeight is the processor weight of a short task.
const shortWeight = 100

// limits returns what the task's process may use.
func (r *run) limits() guard.Limits {
	l := guard.Limits{Memory: r.task.Limits.Memory, CPUs: r.task.Limits.CPUs, Processes: r.b.cfg.MaxProcesses}
	switch {
	case r.b.cfg.LongWeight == 0:
	case r.task.HT:
		l.Weight = shortWeight
	default:
		l.Weight = r.b.cfg.LongWeight
	}
	return l
}

// limitMet puts the failure of a process that met a limit into words: what happened, what to do
// next, and its code. The description of one that met none is unchanged.
func (r *run) limitMet(e *guard.Event, what, next string) (string, string, string) {
	l := &r.task.Limits
	by := r.b.cfg.Guard.Enforces()
	switch {
	case e.OutOfMemory && by.Cgroup != "":
		return fmt.Sprintf("it needed more memory than its limit of %s, and all its processes were ended (they had %s at most)", api.FormatBytes(l.Memory), api.RoundBytes(e.Peak)),
			"give its job more (--memory), or have it use less", api.CodeOutOfMemory
	case e.OutOfMemory:
		return fmt.Sprintf("%s when one of its processes had %s of the %s of memory that each may have (RLIMIT_DATA)", what, api.RoundBytes(e.Peak), api.FormatBytes(l.Memory)),
			"give its job more memory (--memory), or have it use less; " + next, api.CodeOutOfMemory
	case e.AtProcessLimit:
		return fmt.Sprintf("%s after it had reached the %d processes and threads that the node allows a task (max_task_processes)", what, r.b.cfg.MaxProcesses),
			"have it start fewer; " + next, api.CodeProcessLimit
	case l.Memory > 0 && by.Cgroup == "":
		return what, fmt.Sprintf("%s; each of its processes was limited to %s of memory (RLIMIT_DATA), which it may have needed more of", next, api.FormatBytes(l.Memory)), ""
	}
	return what, next, ""
}
