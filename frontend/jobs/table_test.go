package jobs

import (
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Ended jobs are dropped from memory when they are too many, have too many tasks, or
// are too old, the oldest first.
func TestEndedJobsAreForgotten(t *testing.T) {
	const old = 2 * time.Hour
	for name, c := range map[string]struct {
		jobs, tasks, left int
		age               time.Duration
	}{
		"few":           {10, 1, 10, 0},
		"many":          {KeepEnded + 5, 1, KeepEnded, 0},
		"of many tasks": {12, keepEndedTasks / 10, 10, 0},
		"old":           {10, 1, 0, old},
	} {
		table := New(Options{Retention: time.Hour})
		for i := range c.jobs {
			j := &Job{ID: sched.JobID{Lo: uint64(i)}, Status: api.Status{Tasks: c.tasks}, endedAt: time.Now().Add(-c.age)} //nolint:gosec // few
			table.jobs[j.ID] = j
			table.ended.add(j)
		}
		table.forget()
		if len(table.jobs) != c.left || len(table.ended.list) != c.left || table.ended.tasks != c.left*c.tasks {
			t.Errorf("%s: %d jobs, %d in the list, %d tasks; want %d jobs", name, len(table.jobs), len(table.ended.list), table.ended.tasks, c.left)
		}
		if newest := (sched.JobID{Lo: uint64(c.jobs - 1)}); c.left > 0 && table.Known(newest) == nil { //nolint:gosec // few
			t.Errorf("%s: the newest was forgotten", name)
		}
	}
}
