package executors_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/pigeon-sched/pigeon/nodemonitor/backend/guard"
)

// TestMain makes the test binary its own guard.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == guard.Verb {
		os.Exit(guard.Main())
	}
	// A guard built with -race would otherwise sleep for a second before it exits.
	if err := os.Setenv("GORACE", "atexit_sleep_ms=0 "+os.Getenv("GORACE")); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}
