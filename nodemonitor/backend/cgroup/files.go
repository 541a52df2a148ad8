package cgroup

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// words returns the words of a file of a cgroup.
func words(folder, file string) ([]string, error) {
	text, err := os.ReadFile(filepath.Join(folder, file))
	return strings.Fields(string(text)), err
}

// number returns the only number of a file, 0 where there is none.
func number(folder, file string) int64 {
	list, err := words(folder, file)
	if err != nil || len(list) != 1 {
		return 0
	}
	n, err := strconv.ParseInt(list[0], 10, 64)
	if err != nil {
		return 0 // "max"
	}
	return n
}

// counter returns a counter of a file whose lines are a name and a number, 0 where there is
// none.
func counter(folder, file, name string) int64 {
	list, err := words(folder, file)
	if err != nil {
		return 0
	}
	for i := 0; i+1 < len(list); i += 2 {
		if list[i] != name {
			continue
		}
		n, err := strconv.ParseInt(list[i+1], 10, 64)
		if err != nil {
			return 0
		}
		return n
	}
	return 0
}
