package nodemonitor

import (
	"strings"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// TestCutOff: a node that its master has not accepted for max_disconnect, or has given up,
// stops the attempts of the jobs that request it, and no others. The node gives them back.
func TestCutOff(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		event  func(w *world)
		limit  time.Duration
		reason string
	}{
		{"no answer", func(w *world) { w.silent = true }, time.Second, "was cut off from its master for 1s"},
		{"given up", func(w *world) { w.forgot = true }, time.Hour, "was given up by its master"},
		{"another master", func(w *world) { w.incarnation, w.epoch = 2000, 6 }, time.Hour, "was given up by its master"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, false)
			n := w.start(nil)
			limited, free := attemptOf(1, 0), attemptOf(2, 0)
			first, second := w.launch(0, 0, limited, sleepFor(time.Hour)), w.launch(1, 0, free, sleepFor(time.Hour))
			first.MaxDisconnect = c.limit
			n.deliver(first, second)
			n.until("they run", func(o *owner) bool { return started(o) == 2 })
			w.update(func() { c.event(w) })
			w.await("it is given back", func() bool { return find(w.reports, sched.Report, limited) != nil })
			if r := w.reported(limited); r.Msg.Outcome != sched.Yielded || !strings.Contains(r.Msg.Reason, c.reason) {
				t.Errorf("report %s", sched.Describe(&r.Msg))
			}
			n.look(func(o *owner) {
				if started(o) != 1 {
					t.Errorf("%d attempts run, want the other one", started(o))
				}
			})
		})
	}
}
