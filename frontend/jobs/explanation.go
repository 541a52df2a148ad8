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
func (j *Job) Class() sched.Class { return j.class }

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
		all, remark := fmt.Sprintf("all %d tasks", s.Tasks), ""
		if s.Tasks == 1 {
			all = "its only task"
		}
		if s.Reason != "" {
			remark = ": " + s.Reason
		}
		return fmt.Sprintf("It completed: %s succeeded, %.3f s after it was submitted%s.", all, s.Seconds, remark)
	case api.StateCancelled:
		return fmt.Sprintf("It was cancelled (%s) when %d of %s had ended.", s.Reason, s.Completed+s.Failed, sched.Count(s.Tasks, "task", "tasks"))
	default:
		if s.Failed == 0 {
			return fmt.Sprintf("It failed, and none of its tasks has: %s.", s.Reason)
		}
		return fmt.Sprintf("It failed: %d of %s failed; the first: %s.", s.Failed, sched.Count(s.Tasks, "task", "tasks"), s.Reason)
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
