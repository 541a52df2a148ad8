#!/bin/sh
# wallshift.sh OUTPUT: builds pigeon with a wall clock that `pigeon-bench chaos` can move for
# each of its daemons (kind wall-jump). A clock of Linux belongs to the machine and no time
# namespace moves it, so the standard library's time.Now is replaced at compile time; nothing
# of the daemons is. For tests of Pigeon itself only.
set -eu

go=${GO:-go}
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
root=$($go env GOROOT)
awk '/^func Now\(\) Time {/ { in_now = 1 }
	{ print }
	in_now && /runtimeNow\(\)/ { print "\tsec += wallShift.Load()"; in_now = 0; done = 1 }
	END { exit !done }' "$root/src/time/time.go" > "$made/time.go" || {
	echo "time.Now of $($go version) is not as this script knows it; change tools/wallshift.sh" >&2
	exit 1
}
cat > "$made/shift.go" <<'END'
package time

import "sync/atomic"

var wallShift atomic.Int64

// ShiftWall moves the wall clock of this process by seconds from that of the machine.
func ShiftWall(seconds int64) { wallShift.Store(seconds) }
END
# The clock by which a leader judges its leadership can be slowed as well (kind leader-clock).
cat >> "$made/shift.go" <<'END'

var slowBy atomic.Int64

// SlowLeadership makes the clock of leaderships slow by so many thousandths.
func SlowLeadership(thousandths int64) { slowBy.Store(thousandths) }

var slow struct {
	turn       atomic.Bool
	last, lost int64
}

// SlowClock returns a reading of a clock as a slow one shows it.
func SlowClock(ns int64) int64 {
	for !slow.turn.CompareAndSwap(false, true) {
	}
	defer slow.turn.Store(false)
	if slow.last != 0 {
		slow.lost += (ns - slow.last) * slowBy.Load() / 1000
	}
	slow.last = ns
	return ns - slow.lost
}
END
sed 's/return sched.Time(t.Nano())/return sched.Time(time.SlowClock(t.Nano()))/; s/^import (/import (\n\t"time"\n/' internal/leadership/clock_linux.go > "$made/clock_linux.go"
grep -q SlowClock "$made/clock_linux.go" || {
	echo "the clock of internal/leadership is not as this script knows it; change tools/wallshift.sh" >&2
	exit 1
}
cat > "$made/overlay.json" <<END
{"Replace": {"$PWD/internal/leadership/clock_linux.go": "$made/clock_linux.go", "$root/src/time/time.go": "$made/time.go", "$root/src/time/shift.go": "$made/shift.go"}}
END
$go build -overlay "$made/overlay.json" -tags wallshift -o "$1" ./cmd/pigeon
