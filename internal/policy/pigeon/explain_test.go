package pigeon

import (
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

func TestExplainCountsWorkers(t *testing.T) {
	for workers, want := range map[int]string{1: "; the only worker that serves it is busy. ", 3: "; all 3 workers that serve it are busy. "} {
		if got := explain(&sched.Waiting{Place: "Group 0", Queued: 1, Workers: workers}); !strings.Contains(got, want) {
			t.Errorf("%d workers: %q", workers, got)
		}
	}
}
