package sim

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// The clock of a process that drifts never goes back, and a timer is due at the first instant
// at which the clock shows its time: a core that gets a Timeout too early may wait for another.
func TestDriftingClock(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := clock{
			start: sched.Time(rapid.Int64Range(0, int64(100*sched.Second)).Draw(t, "start")),
			ppm:   sched.Time(rapid.Int64Range(-1000, 1000).Draw(t, "ppm")),
		}
		at := sched.Time(rapid.Int64Range(0, 1000).Draw(t, "ms"))*sched.Millisecond + sched.Time(rapid.Int64Range(0, 2000).Draw(t, "ns"))
		if before, after := c.read(at), c.read(at+1); after < before {
			t.Fatalf("the clock shows %d ns at %d ns, and %d ns a nanosecond later", before, at, after)
		}
		shown := c.read(at) + 1
		due := c.instant(shown)
		if due <= at || c.read(due) < shown || c.read(due-1) >= shown {
			t.Fatalf("at %d ns a timer for the next nanosecond is due at %d ns, when the clock shows %d ns of %d ns", at, due, c.read(due), shown)
		}
	})
}
