package access_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/pigeon-sched/pigeon/nodemonitor/backend/guard"
)

// TestMain makes this test the guard of exec tasks when it is started as one.
func TestMain(m *testing.M) {
	guard.Register()
	goleak.VerifyTestMain(m)
}
