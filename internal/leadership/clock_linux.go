package leadership

import (
	"golang.org/x/sys/unix"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// now reads a clock that cannot be set and that runs while the machine sleeps; the clock of
// package time stops then, and a leader that slept would believe that its time is not over.
func now() sched.Time {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &t) != nil {
		return sched.Time(1<<63 - 1) // every Linux has this clock; without it no candidate leads
	}
	return sched.Time(t.Nano())
}
