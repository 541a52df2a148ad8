package jobs

import (
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/frontend/journal"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/runloop"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/internal/telemetry"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// waits are the waits that become known after the ends of jobs.
type waits []time.Duration

func (w *waits) Add(*api.JobUsage)                                  {}
func (w *waits) AddLost(_ string, _ float64, _, wait time.Duration) { *w = append(*w, wait) }

// TestWaitOfALateReport: a node that was cut off reports an attempt long after its job was cancelled.
// The job has waited until then at most, also for a frontend that was started again since.
func TestWaitOfALateReport(t *testing.T) {
	var got waits
	table := New(Options{Retention: 2 * time.Hour, Clock: runloop.NewClock(), Metrics: NewMetrics(telemetry.NewMetrics("frontend")), Tracing: telemetry.Off(), Usage: &got})
	j := table.Start(&journal.Submission{Request: api.Request{Key: "job", Tasks: make([]api.Task, 1)}, Submitted: time.Now().UnixNano()})
	table.Add(j)
	var effects Effects
	for _, m := range []sched.Message{{Kind: sched.Cancel}, {Kind: sched.JobEnded, Outcome: sched.Killed}} {
		table.Record(j, &m, nil, &effects)
	}
	table.Release(&effects)
	if err := table.RestoreEnded(&journal.Ended{Job: sched.JobID{Lo: 1}, Status: api.Status{Tasks: 1, Submitted: 1000, Released: 1050, Ended: 1060}}, time.Minute); err != nil {
		t.Fatal(err)
	}
	table.jobs[sched.JobID{Lo: 1}].reports[0] = taskReport{outcome: sched.Failed, attempt: 2}
	table.opts.Clock = table.opts.Clock.Ahead(sched.Time(time.Hour))
	for _, id := range []sched.JobID{{}, {Lo: 1}} {
		report := &wire.Item{Msg: sched.Message{Kind: sched.Report, Job: id, Attempt: 1, Outcome: sched.Killed}}
		report.Elapsed = time.Second
		table.Unused(report)
	}
	if len(got) != 2 || got[0] > time.Minute || got[1] != 10*time.Second {
		t.Errorf("the jobs have waited for %v", got)
	}
}
