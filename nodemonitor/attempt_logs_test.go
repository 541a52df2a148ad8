package nodemonitor

import (
	"os"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend/logs"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// Who names no attempt is told that the output of the latest one made room, and never shown that of an earlier one.
func TestLatestOutputMadeRoom(t *testing.T) {
	store, err := logs.Open(logs.Config{Root: t.TempDir(), MaxBytes: 100})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	job := sched.NewJobID("f", "job")
	for k, id := range []sched.AttemptID{{Job: job, Attempt: 1}, {Job: job, Task: 1, Attempt: 1}} {
		f, _, err := store.Begin(id)
		if err == nil {
			err = store.Make(id)
		}
		if err == nil {
			err = os.WriteFile(f.Stdout, make([]byte, 60+k), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		store.End(id, false)
		if err := store.Sweep(); err != nil {
			t.Fatal(err)
		}
	}
	for _, stream := range []string{"stdout", wire.FileList} {
		_, err := attemptLogs{store}.AttemptLog(t.Context(), wire.AttemptLogRequest{Attempt: sched.AttemptID{Job: job}, Stream: stream})
		if err == nil || !strings.Contains(err.Error(), "removed to make room") {
			t.Errorf("%s: %v", stream, err)
		}
	}
}
