package childproc

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"
)

// Usage is what processes used of the machine since their start.
type Usage struct {
	CPU    time.Duration // user and system
	RSSMax int64         // the peak of resident memory, in bytes
}

// Then returns the usage of two incarnations of a process, one after the other.
func (u Usage) Then(next Usage) Usage {
	return Usage{u.CPU + next.CPU, max(u.RSSMax, next.RSSMax)}
}

// OwnUsage returns the usage of this program.
func OwnUsage() (Usage, error) {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return Usage{}, fmt.Errorf("the use of the processor cannot be read: %w", err)
	}
	return usageOf(&r), nil
}

// Usage returns the usage of the process, which may have ended.
func (p *Process) Usage() (Usage, error) {
	if p.Running() {
		u, err := UsageOf(p.Pid())
		if !errors.Is(err, os.ErrNotExist) && !errors.Is(err, syscall.ESRCH) {
			return u, err
		}
		<-p.exited // it is ending
	}
	if r, ok := p.cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		return usageOf(r), nil
	}
	return Usage{}, nil
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

// UsageOf reads the usage of a live process by its number.
func UsageOf(pid int) (u Usage, err error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return u, err
	}
	// The name, in parentheses, may hold anything; fields 12 and 13 after it count.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 13 {
		return u, fmt.Errorf("/proc/%d/stat has %d fields", pid, len(fields))
	}
	user, errU := strconv.ParseInt(string(fields[11]), 10, 64)
	system, errS := strconv.ParseInt(string(fields[12]), 10, 64)
	if err := errors.Join(errU, errS); err != nil {
		return u, fmt.Errorf("/proc/%d/stat holds no processor time: %w", pid, err)
	}
	u.CPU = time.Duration(user+system) * clockTick
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return u, err
	}
	_, peak, _ := bytes.Cut(status, []byte("VmHWM:"))
	if fields := bytes.Fields(peak); len(fields) > 0 { // a process that is ending has no memory
		kib, err := strconv.ParseInt(string(fields[0]), 10, 64)
		if err != nil {
			return u, fmt.Errorf("/proc/%d/status: VmHWM: %w", pid, err)
		}
		u.RSSMax = kib << 10
	}
	return u, nil
}
