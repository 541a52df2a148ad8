package jobs

import (
	"reflect"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/frontend/journal"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/runloop"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/internal/telemetry"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// cancelled returns a table with a job of two tasks that its user has cancelled, and what to call when
// that is on the disk.
func cancelled(usage Usage) (table *Table, j *Job, written func()) {
	table = New(Options{Retention: 2 * time.Hour, Clock: runloop.NewClock(), Metrics: NewMetrics(telemetry.NewMetrics("frontend")), Tracing: telemetry.Off(), Usage: usage})
	j = table.Start(&journal.Submission{Request: api.Request{Key: "job", Tasks: make([]api.Task, 2)}, Submitted: time.Now().UnixNano()})
	table.Add(j)
	var effects Effects
	for _, m := range []sched.Message{{Kind: sched.Cancel}, {Kind: sched.JobEnded, Outcome: sched.Killed}} {
		table.Record(j, &m, nil, &effects)
	}
	return table, j, func() { table.Release(&effects) }
}

// endReport returns the report of the first task's first attempt, which had its slot for a second.
func endReport(job sched.JobID) *wire.Item {
	report := &wire.Item{From: wire.Ref{Role: sched.Worker, Name: "n1"}, Msg: sched.Message{Kind: sched.Report, Job: job, Attempt: 1, Outcome: sched.Killed}}
	report.Elapsed = time.Second
	return report
}

// waits are the waits that become known after the ends of jobs.
type waits []time.Duration

func (w *waits) Add(*api.JobUsage)                              {}
func (w *waits) AddLost(_ *api.JobUsage, _, wait time.Duration) { *w = append(*w, wait) }

// TestWaitOfALateReport: a node that was cut off reports an attempt long after its job was cancelled.
// The job has waited until then at most, also for a frontend that was started again since.
func TestWaitOfALateReport(t *testing.T) {
	var got waits
	table, _, written := cancelled(&got)
	written()
	if err := table.RestoreEnded(&journal.Ended{Job: sched.JobID{Lo: 1}, Status: api.Status{Tasks: 1, Submitted: 1000, Released: 1050, Ended: 1060}}, time.Minute); err != nil {
		t.Fatal(err)
	}
	table.jobs[sched.JobID{Lo: 1}].reports[0] = taskReport{outcome: sched.Failed, attempt: 2}
	table.opts.Clock = table.opts.Clock.Ahead(sched.Time(time.Hour))
	for _, id := range []sched.JobID{{}, {Lo: 1}} {
		table.Unused(endReport(id))
	}
	if len(got) != 2 || got[0] > time.Minute || got[1] != 10*time.Second {
		t.Errorf("the jobs have waited for %v", got)
	}
}

// TestStoppedTasks: it is kept where a task of a cancelled job ran, whether its node reports the end
// before or after the cancel is on the disk: a task may end faster than a disk syncs.
func TestStoppedTasks(t *testing.T) {
	for name, synced := range map[string]bool{"while the cancel is written": false, "when it is written": true} {
		table, j, written := cancelled(nil)
		if synced {
			written()
		}
		table.Unused(endReport(j.ID))
		if !synced {
			written()
		}
		if node, _ := table.Reporter(j, 0); node != "n1" {
			t.Errorf("%s: the task ran on node %q", name, node)
		}
		if tasks := table.StoppedTasks(j, 10); len(tasks) != 1 || tasks[0].Node != "n1" || tasks[0].Attempt != 1 || tasks[0].State != stateCancelled {
			t.Errorf("%s: the tasks that were stopped are %+v", name, tasks)
		}
	}
}

// TestStoppedTaskOfAFormerProcess: a task of a cancelled job whose end is reported only to a later
// process of the frontend is known to have been stopped, and where.
func TestStoppedTaskOfAFormerProcess(t *testing.T) {
	before, j, _ := cancelled(nil)
	e := &journal.Ended{Job: j.ID, Status: *j.final, Results: before.results(j)}
	table := New(Options{Retention: 2 * time.Hour, Clock: runloop.NewClock()})
	if err := table.RestoreEnded(e, time.Minute); err != nil {
		t.Fatal(err)
	}
	kept, ok := table.Unused(endReport(j.ID))
	tasks := table.StoppedTasks(table.Known(j.ID), 10)
	if len(tasks) != 1 || tasks[0].Node != "n1" || tasks[0].Task != 0 || !ok {
		t.Errorf("the tasks that were stopped are %+v", tasks)
	}
	if again, ok := table.Unused(endReport(j.ID)); ok {
		t.Errorf("a repeated report is journaled again: %+v", again)
	}
	e.Stopped = []journal.StoppedTask{{Task: kept.First, Attempt: kept.Attempt, Node: kept.Node, Elapsed: kept.Elapsed, Began: kept.Began}}
	next := New(table.opts)
	if err := next.RestoreEnded(e, time.Minute); err != nil {
		t.Fatal(err)
	}
	if got := next.StoppedTasks(next.Known(j.ID), 10); !reflect.DeepEqual(got, tasks) {
		t.Errorf("the next process has %+v, the one before had %+v", got, tasks)
	}
}

// TestStoppedTasksAreBounded: of a cancelled job with very many running tasks, the journal keeps where
// the first ones were stopped.
func TestStoppedTasksAreBounded(t *testing.T) {
	table := New(Options{Retention: 2 * time.Hour, Clock: runloop.NewClock()})
	const tasks = keptStopped + 10
	e := &journal.Ended{Status: api.Status{State: api.StateCancelled, Tasks: tasks}}
	e.Results = table.results(&Job{reports: make([]taskReport, tasks)})
	if err := table.RestoreEnded(e, time.Minute); err != nil {
		t.Fatal(err)
	}
	kept := 0
	for task := range int32(tasks) {
		report := endReport(e.Job)
		report.Msg.First = task
		if _, ok := table.Unused(report); ok {
			kept++
		}
	}
	if kept != keptStopped {
		t.Errorf("%d of %d are kept", kept, tasks)
	}
}

// TestUsageOfRetriedAttemptsIsRestored: what a retried attempt used is counted from the journal as by the
// process that received its report, and not once more when the report comes again.
func TestUsageOfRetriedAttemptsIsRestored(t *testing.T) {
	options := Options{Retention: 2 * time.Hour, Clock: runloop.NewClock(), Metrics: NewMetrics(telemetry.NewMetrics("frontend")), Tracing: telemetry.Off()}
	sub := &journal.Submission{Request: api.Request{Key: "job", Tasks: make([]api.Task, 2)}, Submitted: time.Now().Add(-time.Minute).UnixNano()}
	table := New(options)
	j := table.Restore(sub)
	report := endReport(j.ID)
	report.Msg.Outcome, report.Started = sched.Failed, time.Now().Add(-time.Second)
	var effects Effects
	r := table.Record(j, &sched.Message{Kind: sched.NewAttempt, Attempt: 2, Outcome: sched.Failed}, report, &effects)
	want := j.usage
	next := New(options)
	back := next.Restore(sub)
	next.RestoreRecord(back, &r, 1)
	got := back.usage
	next.Unused(report)
	if back.usage.Lost != want.Lost {
		t.Errorf("when the report came again, %v were lost", back.usage.Lost)
	}
	if wait := got.Wait; wait < 58*time.Second || wait > 61*time.Second {
		t.Errorf("the job has waited for %v", wait)
	}
	got.Wait, got.LongestWait = want.Wait, want.LongestWait // by another clock
	if got != want || want.Lost != time.Second {
		t.Errorf("after a restart %+v, before %+v", got, want)
	}
}
