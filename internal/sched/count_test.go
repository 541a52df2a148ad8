package sched_test

import (
	"testing"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

func TestCount(t *testing.T) {
	for n, want := range map[int]string{0: "0 tasks wait", 1: "1 task waits", 2: "2 tasks wait"} {
		if got := sched.Count(n, "task waits", "tasks wait"); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}
