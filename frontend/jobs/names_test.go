package jobs

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/pigeon-sched/pigeon/frontend/journal"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Every task reaches its node under the name that its application gave it, also where some tasks of
// the job are named by their own number, or by that of another task.
func TestTasksKeepTheirNames(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"0", "1", "2", "3", "01", "b", "é"}), 1, 4, rapid.ID).Draw(t, "names")
		tasks := make([]api.Task, len(names))
		for i := range tasks {
			tasks[i].ID = names[i]
		}
		table := New(Options{})
		j := newJob(&journal.Submission{Job: sched.JobID{Lo: 1}, Request: api.Request{Tasks: tasks}})
		table.jobs[j.ID] = j
		first := rapid.IntRange(0, len(names)-1).Draw(t, "first")
		count := rapid.IntRange(1, len(names)-first).Draw(t, "count")
		x := table.Payloads(&sched.Message{Kind: sched.Tasks, Job: j.ID, First: int32(first)}, int32(count)) //nolint:gosec // few
		for i := range count {
			if got := x.TaskID(int32(first), i); got != names[first+i] { //nolint:gosec // few
				t.Errorf("task %d of %q is sent as %q", first+i, names, got)
			}
		}
	})
}

// The status of a job is text, whatever bytes its application has for a name.
func TestApplicationThatIsNotText(t *testing.T) {
	const app = "a\xff\xfeb"
	j := newJob(&journal.Submission{Request: api.Request{App: app, Tasks: make([]api.Task, 1)}})
	if got := j.Status.App; got != "a\ufffdb" {
		t.Errorf("the application is shown as %q", got)
	}
	if got := j.App(); got != app {
		t.Errorf("its tasks need the backends of application %q", got)
	}
}
