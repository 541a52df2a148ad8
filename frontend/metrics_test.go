package frontend_test

import (
	"testing"

	"github.com/pigeon-sched/pigeon/frontend"
)

// The metrics can be gathered without a daemon, for their documentation.
func TestMetricsWithoutDaemon(t *testing.T) {
	families, err := frontend.Metrics().Registry.Gather()
	if err != nil || len(families) == 0 {
		t.Errorf("%d families of metrics, error %v", len(families), err)
	}
}
