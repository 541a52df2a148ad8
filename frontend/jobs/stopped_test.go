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

// TestStoppedTasks: it is kept where a task of a cancelled job ran, whether its node reports the end
// before or after the cancel is on the disk: a task may end faster than a disk syncs.
func TestStoppedTasks(t *testing.T) {
	for name, synced := range map[string]bool{"while the cancel is written": false, "when it is written": true} {
		table := New(Options{Retention: time.Hour, Clock: runloop.NewClock(), Metrics: NewMetrics(telemetry.NewMetrics("frontend")), Tracing: telemetry.Off()})
		j := table.Start(&journal.Submission{Request: api.Request{Key: "job", Tasks: make([]api.Task, 2)}, Submitted: time.Now().UnixNano()})
		table.Add(j)
		var effects Effects
		for _, m := range []sched.Message{{Kind: sched.Cancel}, {Kind: sched.JobEnded, Outcome: sched.Killed}} {
			table.Record(j, &m, nil, &effects)
		}
		report := &wire.Item{From: wire.Ref{Role: sched.Worker, Name: "n1"}, Msg: sched.Message{Kind: sched.Report, Attempt: 1, Outcome: sched.Killed}}
		report.Elapsed = time.Second
		if !synced {
			table.Unused(report)
		}
		table.Release(&effects)
		if synced {
			table.Unused(report)
		}
		if node, _ := table.Reporter(j, 0); node != "n1" {
			t.Errorf("%s: the task ran on node %q", name, node)
		}
		if tasks := table.StoppedTasks(j, 10); len(tasks) != 1 || tasks[0].Node != "n1" || tasks[0].Attempt != 1 || tasks[0].State != stateCancelled {
			t.Errorf("%s: the tasks that were stopped are %+v", name, tasks)
		}
	}
}
