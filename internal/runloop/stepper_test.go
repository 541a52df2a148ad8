package runloop_test

import (
	"testing"

	"github.com/pigeon-sched/pigeon/internal/runloop"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// broadcaster sends a batch, a single message and one to everyone, and sets a timer.
type broadcaster struct{}

func (broadcaster) Step(now sched.Time, _ sched.Addr, _ *sched.Message, out *sched.Actions) {
	out.Send(sched.Addr{Role: sched.Master}, sched.Tasks).Count = 7
	out.Send(sched.Addr{Role: sched.Worker}, sched.Launch).Count = 5
	out.Send(sched.Addr{Role: sched.Distributor, ID: sched.Everyone}, sched.LoadShare)
	out.Timer(now, 1)
	out.Do(sched.Persist)
}

// A batch of k tasks counts k, any other message one, and one to everyone its number of
// copies as the daemon counts them.
func TestMessagesAreCounted(t *testing.T) {
	var s *runloop.Stepper
	s = runloop.NewStepper(func(_ sched.Addr, a *sched.Action) {
		if a.Kind == sched.Send && a.To.ID == sched.Everyone {
			s.Spread(&a.Msg, 3)
		}
	}, nil)
	for range 2 {
		s.Step(broadcaster{}, sched.Addr{}, 0, sched.Addr{}, &sched.Message{})
	}
	if got := s.Messages(); got != 2*(7+1+3) {
		t.Errorf("%d messages, want %d", got, 2*(7+1+3))
	}
}
