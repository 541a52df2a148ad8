package guard

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
)

// pids lists every process of the machine that /proc shows.
func pids() []int {
	names, err := readNames("/proc")
	if err != nil {
		return nil
	}
	var out []int
	for _, n := range names {
		if pid, err := strconv.Atoi(n); err == nil {
			out = append(out, pid)
		}
	}
	return out
}

// childrenOf lists the direct children of a process, zombies included. The list
// may miss one that is just being born or adopted; callers look again.
func childrenOf(pid int) []int {
	threads, err := readNames(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return nil
	}
	var out []int
	listed := false
	for _, t := range threads {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", pid, t))
		if err != nil {
			continue // the thread has ended, or the kernel has no such file
		}
		listed = true
		for f := range bytes.FieldsSeq(text) {
			if child, err := strconv.Atoi(string(f)); err == nil {
				out = append(out, child)
			}
		}
	}
	if listed {
		return out
	}
	for _, p := range pids() {
		if parentOf(p) == pid {
			out = append(out, p)
		}
	}
	return out
}

// forkedOnly is PF_FORKNOEXEC of the kernel: the process runs what its parent does, and no program of its own.
const forkedOnly = 0x40

// neverRan reports whether a process, which may have ended and is not reaped, has never become a program.
func neverRan(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(fields) < 7 {
		return false
	}
	flags, err := strconv.ParseUint(string(fields[6]), 10, 64)
	return err == nil && flags&forkedOnly != 0
}

// look is what /proc tells of a process.
type look struct {
	name  []byte // of its program, as its user wants it
	state string
	group int
}

// lookAt returns what a process is, which may have ended.
func lookAt(pid int) (p look) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return p
	}
	begin, end := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
	fields := bytes.Fields(text[end+1:])
	if begin < 0 || end < begin || len(fields) < 3 {
		return p
	}
	p.name, p.state = text[begin+1:end], string(fields[0])
	p.group, _ = strconv.Atoi(string(fields[2])) // 0 is nobody's
	return p
}

// parentOf returns a process's parent, 0 when there is no such process.
func parentOf(pid int) int {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	return parseParent(text)
}

// parseParent reads the fourth field of a stat line. The second, the program's
// name in brackets, may hold anything, brackets and spaces included.
func parseParent(stat []byte) int {
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 2 {
		return 0
	}
	parent, err := strconv.Atoi(string(fields[1]))
	if err != nil || parent < 0 {
		return 0
	}
	return parent
}

// markOf returns the mark in a process's environment, "" when it has none or may
// not be read.
func markOf(pid int) string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		return ""
	}
	return parseMark(text)
}

func parseMark(environ []byte) string {
	for kv := range bytes.SplitSeq(environ, []byte{0}) {
		if v, ok := bytes.CutPrefix(kv, []byte(MarkVariable+"=")); ok {
			return string(v)
		}
	}
	return ""
}

func readNames(folder string) ([]string, error) {
	d, err := os.Open(folder)
	if err != nil {
		return nil, err
	}
	defer func() { _ = d.Close() }() // only read from
	return d.Readdirnames(-1)
}
