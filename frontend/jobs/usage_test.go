package jobs

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/runloop"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// lateUsage records what becomes known after the end of a job.
type lateUsage struct{ lost, wait time.Duration }

func (u *lateUsage) Add(*api.JobUsage) {}

func (u *lateUsage) AddLost(_ string, _ float64, lost, wait time.Duration) {
	u.lost, u.wait = lost, wait
}

// A job that was cancelled waited until its task started, and until its end at the most: the node
// reports the task only when it has stopped it.
func TestWaitOfCancelledJob(t *testing.T) {
	for name, c := range map[string]struct{ elapsed, wait time.Duration }{
		"started before the end": {6 * time.Second, 4 * time.Second},
		"stopped after the end":  {2 * time.Second, 5 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) { // no time passes
			clock, usage := runloop.NewClock(), lateUsage{}
			ago := func(d time.Duration) sched.Time { return clock.Now() - sched.Time(d) }
			table := New(Options{Clock: clock, Usage: &usage})
			j := &Job{
				ID: sched.JobID{Lo: 1}, arrived: ago(13 * time.Second), due: ago(10 * time.Second),
				Ended: true, final: &api.Status{Seconds: 8}, reports: make([]taskReport, 1),
			}
			table.jobs[j.ID] = j
			table.Unused(&wire.Item{Msg: sched.Message{Job: j.ID, Attempt: 1}, Extra: wire.Extra{Elapsed: c.elapsed}})
			if usage.lost != c.elapsed || usage.wait != c.wait {
				t.Errorf("%s: %v lost after %v, want %v after %v", name, usage.lost, usage.wait, c.elapsed, c.wait)
			}
		})
	}
}
