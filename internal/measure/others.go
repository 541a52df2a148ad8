package measure

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// OthersMatter is the share of a machine's processor time from which on other programs are named
// next to a live result.
const OthersMatter = 0.1

// ticksPerSecond is the unit of /proc/stat, which is the same on all Linux machines.
const ticksPerSecond = 100

// Others measures what other programs than this one and its children use of the machine's
// processors.
type Others struct {
	began time.Time
	all   float64 // seconds of processors that were used
	own   float64 // of these by this process and its children that have ended
	known bool
}

// WatchOthers begins.
func WatchOthers() *Others {
	o := &Others{began: time.Now()}
	o.all, o.own, o.known = processorSeconds()
	return o
}

// Share returns which part of all processors' time others have used since it began: 0 to 1, false
// where the system does not report it. Children that still run count as others, so it is called
// after they have ended.
func (o *Others) Share() (share float64, known bool) {
	all, own, known := processorSeconds()
	took := time.Since(o.began).Seconds() * float64(runtime.NumCPU())
	if !known || !o.known || took <= 0 {
		return 0, false
	}
	return min(1, max(0, (all-o.all)-(own-o.own))/took), true
}

// SayOthers returns the line about others next to a live result, "" when they do not
// matter.
func SayOthers(share float64) string {
	if share < OthersMatter {
		return ""
	}
	return fmt.Sprintf("other programs used %.0f %% of this machine's processors during the run, and live times are longer for it; run it again when the machine is quiet", 100*share)
}

// BusySeconds returns how long the processors of this machine have been busy, all together;
// false where the system does not report it.
func BusySeconds() (seconds float64, known bool) {
	f, err := os.Open("/proc/stat")
	if err != nil {
		return 0, false // another system
	}
	defer func() { _ = f.Close() }() // only read
	lines := bufio.NewScanner(f)
	if !lines.Scan() {
		return 0, false
	}
	return busySeconds(lines.Text())
}

func processorSeconds() (all, own float64, known bool) {
	if all, known = BusySeconds(); !known {
		return 0, 0, false
	}
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var r syscall.Rusage
		if syscall.Getrusage(who, &r) != nil {
			return 0, 0, false
		}
		own += float64(r.Utime.Nano()+r.Stime.Nano()) / 1e9
	}
	return all, own, true
}

// busySeconds reads the first line of /proc/stat: user, nice, system, idle, waiting for disks,
// interrupts, soft interrupts, stolen; what guests use is among the first two.
func busySeconds(line string) (seconds float64, ok bool) {
	fields := strings.Fields(line)
	if len(fields) < 9 || fields[0] != "cpu" {
		return 0, false
	}
	for i, field := range fields[1:9] {
		n, err := strconv.ParseUint(field, 10, 64)
		if err != nil {
			return 0, false
		}
		if i != 3 && i != 4 {
			seconds += float64(n) / ticksPerSecond
		}
	}
	return seconds, true
}
