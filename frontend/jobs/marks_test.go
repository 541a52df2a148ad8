package jobs

import (
	"math"
	"testing"

	"github.com/pigeon-sched/pigeon/frontend/journal"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// docs/policies.md, pigeon-x: "only if it is restartable: sleep always, exec with
// `--restartable`, Spark never"; "Only tasks that can be suspended are victims: sleep and exec tasks
// without `--no-suspend`, and never processes of applications."
func TestMarks(t *testing.T) {
	for backend, want := range map[api.Backend][2]sched.Marks{
		api.BackendSleep: {sched.Stoppable | sched.Restartable, sched.Stoppable | sched.Restartable},
		api.BackendExec:  {sched.Stoppable, sched.Stoppable | sched.Restartable},
		api.BackendApp:   {0, 0},
	} {
		for i, restartable := range []bool{false, true} {
			for _, never := range []bool{false, true} {
				want := want[i]
				if never {
					want &^= sched.Stoppable
				}
				if got := marks(&api.Request{Backend: backend, Restartable: restartable, NoSuspend: never}); got != want {
					t.Errorf("backend %q, restartable %v, no_suspend %v: %v, want %v", backend, restartable, never, got, want)
				}
			}
		}
	}
}

// A limit of running tasks that is above what a core can count is none.
func TestLimitOfRunningTasks(t *testing.T) {
	for given, want := range map[int]int32{0: 0, 7: 7, api.MaxTasks + 1: api.MaxTasks, math.MaxInt: api.MaxTasks} {
		j := &Job{Submission: &journal.Submission{Request: api.Request{MaxRunning: given}}}
		if m := j.Submit(); m.MaxRunning != want {
			t.Errorf("a limit of %d is %d for the core, want %d", given, m.MaxRunning, want)
		}
	}
}
