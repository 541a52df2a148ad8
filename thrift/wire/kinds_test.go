package wire

import (
	"testing"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// The number of a kind is a promise to daemons of other versions. A failure here
// means that a number was changed (put it back) or that a kind is new (give it a
// free number in kindNumbers, and a line here).
func TestKindNumbersStay(t *testing.T) {
	want := map[sched.Kind]int8{
		sched.Tasks: 1, sched.Drop: 2, sched.Serves: 3, sched.Returned: 4, sched.AttemptLost: 5, sched.Holding: 6, sched.Launch: 7,
		sched.Kill: 8, sched.SetReserved: 9, sched.Idle: 10, sched.Refused: 11, sched.Report: 12, sched.Submit: 64, sched.Cancel: 65,
		sched.MasterUp: 66, sched.MasterLost: 67, sched.Restored: 68, sched.Placed: 69, sched.NewAttempt: 70, sched.TaskEnded: 71,
		sched.JobEnded: 72, sched.WorkerUp: 73, sched.WorkerLost: 74, sched.WorkerServes: 75, sched.EpochIs: 76, sched.Ended: 77,
		sched.Timeout: 78, sched.Members: 79, sched.Probe: 13, sched.CancelProbe: 14, sched.ProbeRejected: 15, sched.GetTask: 16,
		sched.NoTask: 17, sched.Started: 18, sched.Steal: 19, sched.Stolen: 20, sched.Rotated: 21, sched.LoadShare: 22, sched.Beat: 23,
		sched.Spare: 24, sched.Preempt: 26, sched.Continue: 27, sched.Yield: 28, sched.Reclass: 29, sched.GangLoad: 30,
		sched.DistributorUp: 80, sched.Held: 81, sched.ResultsKept: 82, sched.NotLost: 83, sched.DistributorAway: 84, sched.SetShares: 85,
	}
	if kindsByNumber[25] != sched.KindNone {
		t.Errorf("number 25, which was given up, means %v", kindsByNumber[25])
	}
	for k := sched.Kind(1); int(k) < sched.NumKinds; k++ {
		n := kindNumbers[k]
		if n != want[k] || n == 0 {
			t.Errorf("%v has the number %d, want %d", k, n, want[k])
		}
		if kindsByNumber[n] != k {
			t.Errorf("number %d of %v means %v", n, k, kindsByNumber[n])
		}
	}
}
