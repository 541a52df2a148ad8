package chaos

import "golang.org/x/sys/unix"

// Now returns ns of the clock that all processes of this machine share and that cannot be set.
func Now() int64 {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) != nil {
		return 0 // every Linux has this clock
	}
	return t.Nano()
}
