package guard

import (
	"bytes"
	"os"
	"strconv"
	"time"
)

// ownPeakFor is how long the guard's own memory is not looked at again.
const ownPeakFor = time.Second

// peaks tells the memory that processes have used from that of the guard. The kernel counts for a
// process the most that it had at once, and what the guard had when the process was started, because
// until it became the program it used that. Only what is above is the program's.
type peaks struct {
	own  int64 // the most memory that the guard had at once, and some more
	seen time.Time
}

// of returns what a process used, 0 when that is not known.
func (p *peaks) of(counted int64) int64 {
	if now := time.Now(); now.Sub(p.seen) >= ownPeakFor {
		most := ownPeak()
		p.own, p.seen = most+most/8, now // the kernel counts by estimates, and the guard may have grown since
	}
	if counted <= p.own {
		return 0
	}
	return counted
}

// ownPeak returns the most memory that this process had at once, 0 when that is not known.
func ownPeak() int64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range bytes.Lines(text) {
		if fields := bytes.Fields(line); len(fields) == 3 && string(fields[0]) == "VmHWM:" {
			if kib, err := strconv.ParseInt(string(fields[1]), 10, 64); err == nil {
				return kib << 10
			}
		}
	}
	return 0
}
