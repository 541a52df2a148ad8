package cgroup

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// groupPrefix begins the names of the cgroups of single processes.
const groupPrefix = "task-"

// period is the time for which the kernel counts the use of processors, in microseconds.
const period = 100_000

// Limits are what a process, with all that it starts, may use. A value of 0 is no limit.
type Limits struct {
	Memory    int64   // bytes
	CPUs      float64 // processors
	Processes int     // processes and threads
	Weight    int     // of the processor against its neighbours; 0 stands for 100, as the others have
}

// Usage is what a process and all that it has started have used.
type Usage struct {
	Peak         int64 // bytes of memory at once; 0 before Linux 5.19
	OOMKills     int64 // how many of its processes the kernel killed for lack of memory
	ForksRefused int64 // how many it could not start
}

// Group is the cgroup of one process. It belongs to one goroutine at a time.
type Group struct {
	folder string
	sys    *system
	fd     int // -1 once it is closed
}

// Make makes a cgroup with limits. What the controllers of the tree cannot limit stays
// unlimited.
func (t *Tree) Make(name string, l Limits) (*Group, error) {
	g := &Group{folder: filepath.Join(t.root, groupPrefix+name), sys: t.sys, fd: -1}
	if err := makeFolder(g.folder); err != nil {
		return nil, err
	}
	err := t.limit(g.folder, &l)
	if err == nil {
		g.fd, err = openFolder(g.folder)
	}
	if err != nil {
		_ = t.sys.remove(g.folder) // the other error is more useful
		return nil, err
	}
	return g, nil
}

// limit writes the limits of a cgroup.
func (t *Tree) limit(folder string, l *Limits) error {
	for _, w := range []struct {
		controller, file, value string
		wanted, optional        bool
	}{
		{"memory", "memory.max", strconv.FormatInt(l.Memory, 10), l.Memory > 0, false},
		{"memory", "memory.oom.group", "1", l.Memory > 0, false}, // all of it ends, not its largest process
		{"memory", "memory.swap.max", "0", l.Memory > 0, true},   // without swap the file is missing
		{"pids", "pids.max", strconv.Itoa(l.Processes), l.Processes > 0, false},
		{"cpu", "cpu.max", quota(l.CPUs), l.CPUs > 0, false},
		{"cpu", "cpu.weight", strconv.Itoa(l.Weight), l.Weight > 0, false},
	} {
		if !w.wanted || !slices.Contains(t.has, w.controller) {
			continue
		}
		if err := t.sys.write(folder, w.file, w.value); err != nil && !(w.optional && errors.Is(err, fs.ErrNotExist)) {
			return err
		}
	}
	return nil
}

// quota returns the value of cpu.max for a number of processors. The kernel takes 1 ms of each
// period at least.
func quota(cpus float64) string {
	return strconv.Itoa(max(int(cpus*period), 1000)) + " " + strconv.Itoa(period)
}

// FD returns the descriptor in which a process can be started.
func (g *Group) FD() int { return g.fd }

// CloseFD closes the descriptor once the process has started, or will not.
func (g *Group) CloseFD() {
	if g.fd >= 0 {
		closeFolder(g.fd)
		g.fd = -1
	}
}

// Usage returns what has been used so far.
func (g *Group) Usage() Usage {
	return Usage{
		Peak:         number(g.folder, "memory.peak"),
		OOMKills:     counter(g.folder, "memory.events", "oom_kill"),
		ForksRefused: counter(g.folder, "pids.events", "max"),
	}
}

// Remove kills what is left in the cgroup and removes it; false when it has to be tried again.
func (g *Group) Remove() bool {
	g.CloseFD()
	err := g.sys.remove(g.folder)
	if errors.Is(err, unix.EBUSY) {
		_ = g.sys.write(g.folder, "cgroup.kill", "1") // before Linux 5.14 the guard's sweep finds them
		err = g.sys.remove(g.folder)
	}
	return err == nil || errors.Is(err, fs.ErrNotExist)
}
