package cluster

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"
)

// Usage is what all daemons of a cluster used since their start.
type Usage struct {
	// CPU is processor time, user and system.
	CPU time.Duration
	// RSSMax is the sum of the peaks of resident memory, in bytes.
	RSSMax int64
	// Shared says that the daemons share this process, so that CPU and RSSMax
	// hold whatever else it did.
	Shared bool
}

// Since is what was used after an earlier reading. Memory stays the peak.
func (u Usage) Since(earlier Usage) Usage {
	u.CPU -= earlier.CPU
	return u
}

// OwnUsage is the use of this process.
func OwnUsage() (Usage, error) {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return Usage{}, fmt.Errorf("the use of the processor cannot be read: %w", err)
	}
	return usageOf(&r), nil
}

func (p *inProcess) usage() (Usage, error) {
	u, err := OwnUsage()
	u.Shared = true
	return u, err
}

func usageOf(r *syscall.Rusage) Usage {
	return Usage{
		CPU:    time.Duration(r.Utime.Nano() + r.Stime.Nano()),
		RSSMax: r.Maxrss << 10, // Linux counts KiB
	}
}

// clockTick is the unit of processor times in /proc, which the kernel fixes for
// programs.
const clockTick = 10 * time.Millisecond

// usageOfPid reads what a live process used.
func usageOfPid(pid int) (u Usage, err error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return u, err
	}
	// The name, in parentheses, may hold anything; 12 and 13 fields follow it.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 13 {
		return u, fmt.Errorf("/proc/%d/stat has %d fields", pid, len(fields))
	}
	user, errU := strconv.ParseInt(string(fields[11]), 10, 64)
	system, errS := strconv.ParseInt(string(fields[12]), 10, 64)
	if errU != nil || errS != nil {
		return u, fmt.Errorf("/proc/%d/stat holds no processor time", pid)
	}
	u.CPU = time.Duration(user+system) * clockTick
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return u, err
	}
	if _, rest, found := bytes.Cut(status, []byte("VmHWM:")); found {
		if f := bytes.Fields(rest); len(f) > 0 {
			kib, err := strconv.ParseInt(string(f[0]), 10, 64)
			if err != nil {
				return u, fmt.Errorf("/proc/%d/status: VmHWM: %w", pid, err)
			}
			u.RSSMax = kib << 10
		}
	}
	return u, nil
}
