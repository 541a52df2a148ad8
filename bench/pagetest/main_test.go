package pagetest

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/pigeon-sched/pigeon/internal/natsserver/natsservertest"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend/guard"
)

// TestMain makes the test binary its own guard of exec tasks.
func TestMain(m *testing.M) {
	guard.Register()
	// A guard built with -race would otherwise sleep for a second before it exits.
	if err := os.Setenv("GORACE", "atexit_sleep_ms=0 "+os.Getenv("GORACE")); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m, natsservertest.LeftBehind())
}
