package jobs

import (
	"testing"

	"github.com/pigeon-sched/pigeon/internal/api"
)

func TestBarAndCounts(t *testing.T) {
	for _, c := range []struct {
		s    api.Status
		want string
	}{
		{api.Status{Tasks: 4}, "[....................] 0 of 4 done, 0 running"},
		{api.Status{Tasks: 4, Completed: 1, Failed: 1, Running: 1}, "[##########>>>>>.....] 2 of 4 done, 1 running, 1 failed"},
		{api.Status{Tasks: 3, Completed: 3}, "[####################] 3 of 3 done, 0 running"},
		{api.Status{Tasks: 1, Completed: 1, Running: 1}, "[####################] 1 of 1 done, 1 running"}, // the master's count is older
	} {
		if got := bar(&c.s) + " " + counts(&c.s); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// The reasons why a run job waits are those of explain, without its sentences about the job itself.
func TestWaitReasons(t *testing.T) {
	e := &api.Explanation{ClassReason: "its estimate is below the cutoff", Why: []string{
		"0 of 1 task has ended, 0 run, 1 waits in queues.", "Group 0: no worker is idle.",
		"It is a short job: its estimate is below the cutoff.", "It runs for team/alice.",
	}}
	if got := waitReasons(e); got != "Group 0: no worker is idle." {
		t.Errorf("%q", got)
	}
}
