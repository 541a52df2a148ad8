package jobs_test

import (
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/frontend/jobs"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// What a task that succeeded has left running is in its job's status, also after a restart of the
// frontend, and is no reason of an end to the core.
func TestLeftoversOutliveARestart(t *testing.T) {
	table, _ := observed()
	j := table.Start(submission())
	table.Add(j)
	m := sched.Message{Kind: sched.TaskEnded, First: 1, Attempt: 1, Outcome: sched.Done}
	kept := table.Record(j, &m, &wire.Item{Msg: sched.Message{First: 1, Reason: "its process sleep (4711) runs on"}}, &jobs.Effects{})
	const want = "task 1 succeeded; its process sleep (4711) runs on"
	if j.Status.Reason != want {
		t.Errorf("%q, want %q", j.Status.Reason, want)
	}
	after, _ := observed()
	back := after.Restore(submission())
	restored, stepped := after.RestoreRecord(back, &kept, 1)
	if back.Status.Reason != want || !stepped || strings.Contains(restored.Reason, "sleep") {
		t.Errorf("after a restart: %q, and the core has %+v", back.Status.Reason, restored)
	}
}
