package process

import (
	"strconv"

	"github.com/pigeon-sched/pigeon/nodemonitor/backend"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend/guard"
)

// The variables that describe an attempt to its process.
const (
	jobVariable      = "PIGEON_JOB"
	taskVariable     = "PIGEON_TASK"
	taskIDVariable   = "PIGEON_TASK_ID"
	attemptVariable  = "PIGEON_ATTEMPT"
	nodeVariable     = "PIGEON_NODE"
	slotVariable     = "PIGEON_SLOT"
	frontendVariable = "PIGEON_FRONTEND"
	arrayVariable    = "PIGEON_ARRAY_INDEX" // only of a task of an array
)

// Variables returns the names of the variables that the processes of tasks have in addition to
// those of their jobs.
func Variables() []string {
	return []string{
		jobVariable, taskVariable, taskIDVariable, attemptVariable, nodeVariable, slotVariable, frontendVariable, arrayVariable, guard.MarkVariable,
	}
}

// environment returns the variables of a task's process, where the last of a name counts: the
// frontend, so that the process can use the cluster that it runs on, then those of the job,
// which may name another frontend, then those of the attempt.
func environment(t *backend.Task, node string) []string {
	var env []string
	if t.Frontend != "" {
		env = append(env, frontendVariable+"="+t.Frontend)
	}
	env = append(env, t.Payload.Exec.Env...)
	number := strconv.Itoa(int(t.ID.Task))
	if a := t.Payload.Array; a != nil {
		index := strconv.FormatInt(a.Index(int(t.ID.Task)), 10)
		if a.Numbers {
			number = index
		} else {
			env = append(env, arrayVariable+"="+index)
		}
	}
	return append(env,
		jobVariable+"="+t.JobName,
		taskVariable+"="+number,
		taskIDVariable+"="+t.TaskName,
		attemptVariable+"="+strconv.Itoa(int(t.ID.Attempt)),
		nodeVariable+"="+node,
		slotVariable+"="+strconv.Itoa(int(t.Slot)),
	)
}
