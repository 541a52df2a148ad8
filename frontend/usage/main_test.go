package usage

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// leaky is set for a process whose tests break a store, which leaves its goroutines blocked.
const leaky = "USAGE_TEST_LEAKY"

func TestMain(m *testing.M) {
	if os.Getenv(leaky) != "" {
		os.Exit(m.Run())
	}
	goleak.VerifyTestMain(m)
}
