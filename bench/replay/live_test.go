package replay

import (
	"math"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/experiment"
	"github.com/pigeon-sched/pigeon/internal/workload"
)

// TestLiveFigures: tasks a second are those of completed jobs, up to the last completion; a task of
// a failed job has used the daemons all the same.
func TestLiveFigures(t *testing.T) {
	w := &workload.Workload{Jobs: []workload.Job{{Durations: make([]int64, 4)}, {Durations: make([]int64, 6)}, {Durations: make([]int64, 9)}}}
	o := experiment.NewOutcome(w)
	o.Jobs[0].Arrival, o.Jobs[0].End, o.Jobs[0].Ended = 1e9, 3e9, true
	o.Jobs[1].Arrival, o.Jobs[1].End, o.Jobs[1].Ended, o.Jobs[1].Failed = 2e9, 9e9, true, true
	Live(o, w, time.Second, 7)
	if got := o.Facts.Live; got.TasksPerSecond != 2 || got.CPUPerTask != 0.1 || got.RSSMax != 7 {
		t.Errorf("%+v, want 2 tasks a second and 0.1 s a task", got)
	}
	o.Jobs[0].Failed = true
	if Live(o, w, time.Second, 7); !math.IsNaN(float64(o.Facts.Live.TasksPerSecond)) {
		t.Errorf("%v tasks a second of completed jobs, without one", o.Facts.Live.TasksPerSecond)
	}
}
