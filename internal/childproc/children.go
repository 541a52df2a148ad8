package childproc

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// ChildrenStartedWith returns the child processes of a process that were started with an argument, in
// the order of their numbers; none for the process 0.
func ChildrenStartedWith(parent int, argument string) (list []int) {
	return slices.DeleteFunc(Children(parent), func(pid int) bool { return !startedWith(pid, argument) })
}

// Children returns the child processes of a process, in the order of their numbers; none for the
// process 0, and where the system does not list them.
func Children(parent int) (list []int) {
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
			if pid, err := strconv.Atoi(word); err == nil {
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
