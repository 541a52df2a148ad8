package attempts

import (
	"reflect"
	"testing"
	"time"
	"unsafe"

	"pgregory.net/rapid"

	"github.com/pigeon-sched/pigeon/frontend/journal"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// drawTimes returns a job that has ended, of whose attempts it is known or not when they ran.
func drawTimes(t *rapid.T, table *Table) *attempts {
	j := drawResults(t, table)
	j.submitted = 1e9
	start := rapid.Custom(func(t *rapid.T) startTime {
		return startTime(rapid.OneOf(rapid.Just(uint32(0)), rapid.Uint32()).Draw(t, "start"))
	})
	for i := range j.tasks {
		r := &j.tasks[i]
		if r.began = start.Draw(t, "began"); !r.failed() {
			r.number, r.elapsed = rapid.Int32Min(0).Draw(t, "attempt"), time.Duration(rapid.Int64Range(0, 1e6).Draw(t, "elapsed"))*time.Microsecond
		}
	}
	for range rapid.IntRange(0, 30).Draw(t, "earlier") {
		table.addEarlier(j, earlier{attempt: 1, began: start.Draw(t, "began"), elapsed: time.Second}, "n")
	}
	return j
}

// endedRecord is what the journal keeps of a job.
func endedRecord(table *Table, j *attempts) *journal.Ended {
	return &journal.Ended{Status: api.Status{Submitted: 1e9, Tasks: len(j.tasks)}, Results: table.results(j), Earlier: table.earlierAttempts(j), Times: j.times()}
}

// A later process shows when attempts ran as the one did in which they ended.
func TestTaskTimesAreKept(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before, after := New(nil), New(nil)
		j := drawTimes(t, before)
		back, err := after.restore(endedRecord(before, j))
		if err != nil {
			t.Fatal(err)
		}
		if is, was := after.completed(back, Explained), before.completed(j, Explained); !reflect.DeepEqual(is, was) {
			t.Fatalf("completed: %+v, were %+v", is, was)
		}
		if is, was := after.failedTasks(back, resultFailures), before.failedTasks(j, resultFailures); !reflect.DeepEqual(is, was) {
			t.Fatalf("failed: %+v, were %+v", is, was)
		}
		if is, was := after.earlierTasks(back, keptEarlier), before.earlierTasks(j, keptEarlier); !reflect.DeepEqual(is, was) {
			t.Fatalf("earlier: %+v, were %+v", is, was)
		}
	})
}

// Damaged times are refused, and nothing is known of any task then.
func TestDamagedTaskTimes(t *testing.T) {
	table := New(nil)
	j := &attempts{tasks: []attempt{{outcome: sched.Done, began: 500, elapsed: time.Second}, {outcome: sched.Failed, began: 700}, {outcome: sched.Done, began: 90}}}
	kept := j.times()
	for cut := range kept {
		back := &attempts{tasks: []attempt{{outcome: sched.Done}, {outcome: sched.Failed}, {outcome: sched.Done}}}
		if err := back.restoreTimes(kept[:cut]); err == nil || len(table.completed(back, 9)) > 0 {
			t.Errorf("%d of %d bytes: %v", cut, len(kept), err)
		}
	}
	if err := (&attempts{tasks: make([]attempt, 1)}).restoreTimes(kept); err == nil {
		t.Error("of a job with other tasks")
	}
	if err := (&attempts{}).restoreTimes(kept); err == nil {
		t.Error("of a job without tasks")
	}
}

// A kept record is bounded, however many tasks a job has.
func TestTaskTimesAreBounded(t *testing.T) {
	const most = 1024
	for _, tasks := range []int{100, resultTasks, 1_000_000} {
		if n := len(manyTasks(tasks, true).times()); n == 0 || n > most {
			t.Errorf("%d bytes for %d tasks, want at most %d", n, tasks, most)
		}
	}
	if n := len(manyTasks(100, false).times()); n > 0 {
		t.Errorf("%d bytes of a job of which no time is known", n)
	}
}

// manyTasks is a job of tasks that completed one after the other, of 250 ms each.
func manyTasks(n int, known bool) *attempts {
	j := &attempts{tasks: make([]attempt, n)}
	for i := range j.tasks {
		j.tasks[i] = attempt{node: 1, number: 1, outcome: sched.Done, elapsed: 250 * time.Millisecond}
		if known {
			j.tasks[i].began = startTime(250*i + 1)
		}
	}
	return j
}

// What the end of a job of 1,000 tasks costs the owner goroutine and the journal; and what a task
// occupies in memory.
func BenchmarkTaskTimes(b *testing.B) {
	j := manyTasks(1000, true)
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		n = len(j.times())
	}
	b.ReportMetric(float64(n), "journal-bytes/job")
	b.ReportMetric(float64(unsafe.Sizeof(attempt{})), "heap-bytes/task")
}

// A task that a worker asked for has begun when it is launched, until another attempt follows or
// its report says when.
func TestLaunchTimes(t *testing.T) {
	sub := &journal.Submission{Submitted: time.Now().Add(-time.Minute).UnixNano(), Request: api.Request{Key: "job", Tasks: make([]api.Task, 2)}}
	all, table := observed(0)
	j := all.Restore(sub)
	running := func() []api.TaskStatus {
		e := api.Explanation{Tasks: []api.TaskStatus{{Task: 0, Attempt: int(j.Attempt(0))}, {Task: 1, Attempt: 1}}}
		table.Explain(j, &e)
		return e.Tasks
	}
	if tasks := running(); tasks[0].Started != 0 || tasks[1].Started != 0 {
		t.Errorf("before a launch: %+v", tasks)
	}
	all.Launching(&sched.Message{First: 0, Attempt: 1}, wire.Ref{})
	if tasks := running(); tasks[0].Started < j.Status.Submitted+59 || tasks[0].Seconds < 0 || tasks[0].Seconds > 3600 || tasks[1].Started != 0 {
		t.Errorf("after a launch: %+v, submitted at %f", tasks, j.Status.Submitted)
	}
	all.RestoreRecord(j, &journal.Record{Kind: journal.NewAttempts, First: 0, Count: 1, Attempt: 2}, 1)
	if tasks := running(); tasks[0].Started != 0 {
		t.Errorf("when the next attempt waits: %+v", tasks)
	}
}
