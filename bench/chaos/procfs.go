package chaos

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/pigeon-sched/pigeon/internal/childproc"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend/guard"
)

var (
	errNoGuard = errors.New("the node has no guard now")
	errNoTask  = errors.New("the node runs no task now")
)

// guardOf returns the guard that a node monitor has started, 0 when it has none.
func guardOf(node int) int {
	if list := childproc.ChildrenStartedWith(node, guard.Verb); len(list) > 0 {
		return list[0]
	}
	return 0
}

// isGuard reports whether a process runs and is a guard.
func isGuard(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return err == nil && slices.Contains(strings.Split(string(text), "\x00"), guard.Verb)
}

// memoryOf returns the resident memory of a process in bytes, and its open descriptors.
func memoryOf(pid int) (rss int64, descriptors int, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0, 0, err
	}
	fields := strings.Fields(string(text))
	if len(fields) < 2 {
		return 0, 0, fmt.Errorf("/proc/%d/statm has %d fields", pid, len(fields))
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	if err != nil {
		return 0, 0, err
	}
	open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	return pages * int64(os.Getpagesize()), len(open), err
}
