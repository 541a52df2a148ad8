//go:build !linux

package leadership

import (
	"time"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

var started = time.Now()

// now reads the clock of package time, which may stop while the machine sleeps.
func now() sched.Time { return sched.Time(time.Since(started)) }
