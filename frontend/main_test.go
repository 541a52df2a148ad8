package frontend_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/pigeon-sched/pigeon/internal/apptest"
	"github.com/pigeon-sched/pigeon/internal/natsserver/natsservertest"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend/guard"
)

// leaky is set for a process whose tests break a journal, which leaves its goroutines blocked.
const leaky = "FRONTEND_TEST_LEAKY"

// TestMain makes the test binary its own guard of exec tasks, and its own executors.
func TestMain(m *testing.M) {
	guard.Register()
	if len(os.Args) > 1 && os.Args[1] == apptest.Verb {
		os.Exit(apptest.Main(os.Args[1:]))
	}
	// A guard built with -race would otherwise sleep for a second before it exits.
	if err := os.Setenv("GORACE", "atexit_sleep_ms=0 "+os.Getenv("GORACE")); err != nil {
		panic(err)
	}
	if os.Getenv(leaky) != "" {
		os.Exit(m.Run())
	}
	goleak.VerifyTestMain(m, natsservertest.LeftBehind())
}
