package chaos

import (
	"errors"
	"testing"

	"github.com/pigeon-sched/pigeon/cluster"
)

// TestOneFaultEndsADaemon: a fault that comes while another one has ended its victim does not
// take place, and leaves the victim to that one. The supervisor would take it for a daemon that
// ended by itself.
func TestOneFaultEndsADaemon(t *testing.T) {
	in := newInjector(nil, fleet{}, nil, nil, "", 0, nil)
	v := victim{cluster.NodeMonitor, 1}
	in.hold(v, true)
	for name, fault := range map[string]func(planned) error{
		"killed":  func(p planned) error { return in.killed(t.Context(), p) },
		"stopped": func(p planned) error { _, err := in.stopped(t.Context(), p); return err },
		"lost":    func(p planned) error { return in.lose(t.Context(), p) },
	} {
		if err := fault(planned{of: v}); !errors.Is(err, errNotRunning) || !in.held(v) {
			t.Errorf("%s: %v, held %v", name, err, in.held(v))
		}
	}
	if in.hold(v, false); !in.take(v) || in.take(v) {
		t.Error("a daemon that runs cannot be taken, or twice")
	}
}
