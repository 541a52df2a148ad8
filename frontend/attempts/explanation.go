package attempts

import (
	"github.com/pigeon-sched/pigeon/frontend/jobs"
	"github.com/pigeon-sched/pigeon/internal/api"
)

// States of attempts that have ended and whose results do not count: another attempt followed, or
// their job was cancelled.
const (
	stateRetried   = "retried"
	stateCancelled = "cancelled"
)

// Explained bounds the tasks that an explanation lists.
const Explained = 100

// Explain adds to an explanation, which has the tasks that run and wait, those of a job that have
// ended, and those that completed.
func (t *Table) Explain(j *jobs.Job, into *api.Explanation) {
	a := t.jobs[j]
	if !j.Ended {
		a.addLaunchTimes(j, into.Tasks)
	}
	into.Tasks = append(into.Tasks, t.ended(a, j.Ended, Explained-len(into.Tasks))...)
	into.Completed = t.completed(a, Explained)
}

// FailedSet returns the numbers of the tasks of an ended job that failed, "" where not all of them are
// known, or fit an array.
func (t *Table) FailedSet(j *jobs.Job) string { return t.jobs[j].failedSet(j.Status.Failed) }

func (a *attempts) failedSet(count int) string {
	var failed []int
	for i := range a.tasks {
		if a.tasks[i].failed() {
			failed = append(failed, i)
		}
	}
	if len(failed) != count {
		return "" // the journal has kept the first ones
	}
	set, err := api.Array{}.Subset(failed)
	if err != nil {
		return ""
	}
	return set.Indices
}

// ended returns the failed tasks of a job, those that ran when it was cancelled, and the attempts that
// were followed by others, at most most of them.
func (t *Table) ended(a *attempts, jobEnded bool, most int) []api.TaskStatus {
	tasks := t.failedTasks(a, most)
	if jobEnded {
		tasks = append(tasks, t.stoppedTasks(a, most-len(tasks))...)
	}
	return append(tasks, t.earlierTasks(a, most-len(tasks))...)
}

// failedTasks returns the failed tasks of a job, at most most of them.
func (t *Table) failedTasks(a *attempts, most int) (tasks []api.TaskStatus) {
	for i := range a.tasks {
		if a.tasks[i].failed() && len(tasks) < most {
			tasks = append(tasks, t.taskStatus(a, i, api.StateFailed))
		}
	}
	return tasks
}

// stoppedTasks returns the tasks that ran when their job was cancelled, at most most of them.
func (t *Table) stoppedTasks(a *attempts, most int) (tasks []api.TaskStatus) {
	for i := range a.tasks {
		if task := &a.tasks[i]; task.node != 0 && !task.ended() && len(tasks) < most {
			tasks = append(tasks, t.taskStatus(a, i, stateCancelled))
		}
	}
	return tasks
}

// completed returns the completed tasks of a job whose times are known, at most most of them.
func (t *Table) completed(a *attempts, most int) (tasks []api.TaskStatus) {
	a.timed(most, func(task int, _ *attempt) {
		tasks = append(tasks, t.taskStatus(a, task, api.StateCompleted))
	})
	return tasks
}

// taskStatus returns the state of a task that has ended.
func (t *Table) taskStatus(a *attempts, i int, state api.State) api.TaskStatus {
	task := &a.tasks[i]
	return api.TaskStatus{
		Task: i, Attempt: int(task.number), State: string(state), Node: t.nodes.name(task.node), Seconds: task.elapsed.Seconds(), Started: task.began.unix(a),
		Exit: int(task.exit), Code: task.code.String(),
	}
}

// earlierTasks returns the attempts of a job that were followed by others, at most most of
// them, the latest ones.
func (t *Table) earlierTasks(a *attempts, most int) (tasks []api.TaskStatus) {
	for _, e := range a.earlier[max(0, len(a.earlier)-max(most, 0)):] {
		tasks = append(tasks, api.TaskStatus{
			Task: int(e.task), Attempt: int(e.attempt), State: stateRetried, Node: t.nodes.name(e.node), Seconds: e.elapsed.Seconds(), Started: e.began.unix(a), Reason: e.reason, Exit: int(e.exit), Code: e.code.String(),
		})
	}
	return tasks
}
