package chaos

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/pigeon-sched/pigeon/nodemonitor/backend/guard"
)

var (
	errNoGuard = errors.New("the node has no guard now")
	errNoTask  = errors.New("the node runs no task now")
)

// guardOf returns the guard of a node monitor, 0 when it has none.
func guardOf(node int) int {
	if list := children(node, guard.Verb); len(list) > 0 {
		return list[0]
	}
	return 0
}

// children returns the child processes that were started with an argument, in order.
func children(parent int, argument string) (list []int) {
	if parent == 0 {
		return nil
	}
	found, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/[0-9]*/children", parent))
	if err != nil {
		return nil
	}
	for _, path := range found {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // the thread has ended
		}
		for word := range strings.FieldsSeq(string(text)) {
			pid, err := strconv.Atoi(word)
			if err == nil && startedWith(pid, argument) {
				list = append(list, pid)
			}
		}
	}
	slices.Sort(list)
	return list
}

func startedWith(pid int, argument string) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return err == nil && slices.ContainsFunc(bytes.Split(text, []byte{0}), func(b []byte) bool { return string(b) == argument })
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
