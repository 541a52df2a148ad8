package attempts

import (
	"reflect"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/frontend/jobs"
	"github.com/pigeon-sched/pigeon/frontend/journal"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// cancelled returns a job of two tasks that its user has cancelled, the record of that, and what to
// call when it is on the disk.
func cancelled() (all *jobs.Table, table *Table, end *journal.Ended, written func()) {
	all, table = observed(0)
	j := all.Start(&journal.Submission{Request: api.Request{Key: "job", Tasks: make([]api.Task, 2)}, Submitted: time.Now().UnixNano()})
	all.Add(j)
	var effects jobs.Effects
	end = all.Record(j, &sched.Message{Kind: sched.JobEnded, Outcome: sched.Killed}, nil, &effects).Ended
	return all, table, end, func() { all.Release(&effects) }
}

// endReport returns the report of the first task's first attempt, which had its slot for a second.
func endReport(job sched.JobID) *wire.Item {
	report := &wire.Item{From: wire.Ref{Role: sched.Worker, Name: "n1"}, Msg: sched.Message{Kind: sched.Report, Job: job, Attempt: 1, Outcome: sched.Killed}}
	report.Elapsed = time.Second
	return report
}

// TestStoppedTasks: it is kept where a task of a cancelled job ran, whether its node reports the end
// before or after the cancel is on the disk: a task may end faster than a disk syncs.
func TestStoppedTasks(t *testing.T) {
	for name, synced := range map[string]bool{"while the cancel is written": false, "when it is written": true} {
		all, table, end, written := cancelled()
		j := all.Get(end.Job)
		if synced {
			written()
		}
		all.Unused(endReport(j.ID))
		if !synced {
			written()
		}
		if node, _ := table.Reporter(j, 0); node != "n1" {
			t.Errorf("%s: the task ran on node %q", name, node)
		}
		if tasks := table.stoppedTasks(table.jobs[j], 10); len(tasks) != 1 || tasks[0].Node != "n1" || tasks[0].Attempt != 1 || tasks[0].State != stateCancelled {
			t.Errorf("%s: the tasks that were stopped are %+v", name, tasks)
		}
	}
}

// TestStoppedTaskOfAFormerProcess: a task of a cancelled job whose end is reported only to a later
// process of the frontend is known to have been stopped, and where.
func TestStoppedTaskOfAFormerProcess(t *testing.T) {
	before, _, e, _ := cancelled()
	if before.Get(e.Job) == nil {
		t.Fatal("the job is not known")
	}
	all, table := observed(0)
	all.RestoreEnded(e, time.Minute)
	kept, ok := all.Unused(endReport(e.Job))
	tasks := table.stoppedTasks(table.jobs[all.Known(e.Job)], 10)
	if len(tasks) != 1 || tasks[0].Node != "n1" || tasks[0].Task != 0 || !ok {
		t.Errorf("the tasks that were stopped are %+v", tasks)
	}
	if again, ok := all.Unused(endReport(e.Job)); ok {
		t.Errorf("a repeated report is journaled again: %+v", again)
	}
	e.Stopped = []journal.StoppedTask{{Task: kept.First, Attempt: kept.Attempt, Node: kept.Node, Elapsed: kept.Elapsed, Began: kept.Began}}
	all, next := observed(0)
	all.RestoreEnded(e, time.Minute)
	if got := next.stoppedTasks(next.jobs[all.Known(e.Job)], 10); !reflect.DeepEqual(got, tasks) {
		t.Errorf("the next process has %+v, the one before had %+v", got, tasks)
	}
}

// TestStoppedTasksAreBounded: of a cancelled job with very many running tasks, the journal keeps where
// the first ones were stopped.
func TestStoppedTasksAreBounded(t *testing.T) {
	const tasks = keptStopped + 10
	all, table := observed(0)
	e := &journal.Ended{Status: api.Status{State: api.StateCancelled, Tasks: tasks}}
	e.Results = table.results(&attempts{tasks: make([]attempt, tasks)})
	all.RestoreEnded(e, time.Minute)
	kept := 0
	for task := range int32(tasks) {
		report := endReport(e.Job)
		report.Msg.First = task
		if _, ok := all.Unused(report); ok {
			kept++
		}
	}
	if kept != keptStopped {
		t.Errorf("%d of %d are kept", kept, tasks)
	}
}
