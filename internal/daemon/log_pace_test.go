package daemon_test

import (
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/daemon"
)

// A problem is logged when it appears, changes or returns, and once a minute meanwhile.
func TestLogPace(t *testing.T) {
	var r daemon.LogPace
	start := time.Now()
	for i, c := range []struct {
		subject, problem string
		at               time.Duration
		omitted          int
		due              bool
	}{
		{"a", "refused", 0, 0, true},
		{"a", "refused", time.Second, 0, false},
		{"b", "refused", time.Second, 0, true},
		{"a", "refused", 59 * time.Second, 0, false},
		{"a", "refused", 60 * time.Second, 2, true},
		{"a", "refused", 61 * time.Second, 0, false},
		{"a", "silent", 62 * time.Second, 0, true},
	} {
		if omitted, due := r.Due(c.subject, c.problem, start.Add(c.at)); omitted != c.omitted || due != c.due {
			t.Errorf("call %d: %d omitted, due: %v, want %d, %v", i, omitted, due, c.omitted, c.due)
		}
	}
	r.Over("a")
	if _, due := r.Due("a", "silent", start.Add(63*time.Second)); !due {
		t.Error("a problem that returns is not logged")
	}
}
