package daemon_test

import (
	"context"
	"testing"

	"go.uber.org/goleak"

	"github.com/pigeon-sched/pigeon/thrift/server/servertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// echo is a service for listeners.
var echo = servertest.Echo(func(_ context.Context, text string) (string, error) { return text, nil })
