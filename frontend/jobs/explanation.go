package jobs

import (
	"fmt"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// ClassSentence returns how the class of an unfinished job was found, "" when it has
// ended.
func (j *Job) ClassSentence() string {
	if j.Submission == nil {
		return ""
	}
	if class := j.Class(); class != j.Submission.Class {
		return fmt.Sprintf("It is a %s job: its tasks showed that; it was submitted as a %s one: %s.", class, j.Submission.Class, j.Submission.Why)
	}
	return fmt.Sprintf("It is a %s job: %s.", j.Submission.Class, j.Submission.Why)
}

// Class returns the class of a job now: masters may have found out that it is another one than
// it was submitted as.
func (j *Job) Class() sched.Class {
	switch {
	case j.turn.happened:
		return j.turn.to
	case j.Submission != nil:
		return j.Submission.Class
	}
	return sched.Short
}

// OwnerSentence returns for whom a job runs and with which priority, "" when neither was
// said.
func OwnerSentence(s *api.Status) string {
	owner := "It runs for nobody in particular"
	if s.Owner != "" {
		owner = "It runs for " + s.Owner
	}
	switch {
	case s.Priority != 0:
		return fmt.Sprintf("%s, with priority %d among the jobs of that owner.", owner, s.Priority)
	case s.Owner != "":
		return owner + "."
	}
	return ""
}

// EndSentence returns how an ended job ended.
func EndSentence(s *api.Status) string {
	switch s.State {
	case api.StateCompleted:
		if s.Tasks == 1 {
			return fmt.Sprintf("It completed: its only task succeeded, %.3f s after it was submitted.", s.Seconds)
		}
		return fmt.Sprintf("It completed: all %d tasks succeeded, %.3f s after it was submitted.", s.Tasks, s.Seconds)
	case api.StateCancelled:
		return fmt.Sprintf("It was cancelled (%s) when %d of %s had ended.", s.Reason, s.Completed+s.Failed, sched.Count(s.Tasks, "task", "tasks"))
	default:
		if s.Failed == 0 {
			return fmt.Sprintf("It failed, and none of its tasks has: %s.", s.Reason)
		}
		return fmt.Sprintf("It failed: %d of %s failed; the first: %s.", s.Failed, sched.Count(s.Tasks, "task", "tasks"), s.Reason)
	}
}

// EndedTasks returns the failed tasks of a job, those that ran when it was cancelled, and the attempts that
// were followed by others, at most most of them.
func (t *records) EndedTasks(j *Job, most int) []api.TaskStatus {
	tasks := t.FailedTasks(j, most)
	tasks = append(tasks, t.StoppedTasks(j, most-len(tasks))...)
	return append(tasks, t.EarlierAttempts(j, most-len(tasks))...)
}

// FailedTasks returns the failed tasks of a job, at most most of them.
func (t *records) FailedTasks(j *Job, most int) (tasks []api.TaskStatus) {
	for i := range j.reports {
		if r := &j.reports[i]; r.failed() && len(tasks) < most {
			tasks = append(tasks, t.taskStatus(j, i, api.StateFailed))
		}
	}
	return tasks
}

// FailedSet returns the numbers of the tasks of an ended job that failed, "" where not all of them are
// known, or fit an array.
func (j *Job) FailedSet() string {
	var failed []int
	for i := range j.reports {
		if j.reports[i].failed() {
			failed = append(failed, i)
		}
	}
	if len(failed) != j.Status.Failed {
		return "" // the journal has kept the first ones
	}
	set, err := api.Array{}.Subset(failed)
	if err != nil {
		return ""
	}
	return set.Indices
}

// CompletedTasks returns the tasks of a job that completed and of which it is known when they
// ran, at most most of them.
func (t *records) CompletedTasks(j *Job, most int) (tasks []api.TaskStatus) {
	j.timed(most, func(task int, _ *taskReport) {
		tasks = append(tasks, t.taskStatus(j, task, api.StateCompleted))
	})
	return tasks
}

// taskStatus returns the state of a task that has ended.
func (t *records) taskStatus(j *Job, task int, state api.State) api.TaskStatus {
	r := &j.reports[task]
	return api.TaskStatus{
		Task: task, Attempt: int(r.attempt), State: string(state), Node: t.nodes.name(r.node), Seconds: r.elapsed.Seconds(), Started: r.began.unix(j),
		Exit: int(r.exit), Code: r.code.String(),
	}
}

// App returns the application whose backends the tasks of an unfinished job need, ""
// for the built-in ones.
func (j *Job) App() string {
	if j.Submission == nil {
		return ""
	}
	return Needs(&j.Submission.Request)
}

// Reporter returns the node that reported the result of a task, or the end of a task whose job was
// cancelled, "" when no node did. ended is false while there is no result.
func (t *records) Reporter(j *Job, task int) (node string, ended bool) {
	r := &j.reports[task]
	return t.nodes.name(r.node), r.ended()
}
