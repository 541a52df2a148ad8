package frontend_test

import (
	"testing"
	"time"
)

// TestObserversForgetJobs: no observer keeps a row of a job that has left the table, whatever became of it.
func TestObserversForgetJobs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.master()
	w.node(0, 2)
	f := w.frontend()
	w.done(f, w.submit(f, sleeps("completed", 3, 0)))
	cancelled := w.submit(f, sleeps("cancelled", 3, time.Hour))
	if rows := f.ObservedJobs(); len(rows) < 5 || rows["quotas.Table.jobs"] != 1 || rows["attempts.Table.jobs"] != 2 {
		t.Errorf("observers keep rows of these numbers of jobs: %v", rows)
	}
	if _, err := f.Cancel(t.Context(), cancelled); err != nil {
		t.Fatal(err)
	}
	f.LeaveMemory("completed")
	f.LeaveMemory(cancelled)
	for where, n := range f.ObservedJobs() {
		if n != 0 {
			t.Errorf("%s keeps %d jobs that are forgotten", where, n)
		}
	}
}
