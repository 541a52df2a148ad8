package cluster

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// children returns the processes that a daemon has started, such as the guard of a node; none
// where the system does not list them.
func (m *member) children() (list []int) {
	found, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/[0-9]*/children", m.pid()))
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
	return list
}
