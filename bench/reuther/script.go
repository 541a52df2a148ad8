package reuther

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pigeon-sched/pigeon/internal/shellwords"
)

// writeScript writes a script for a job array, each task of which runs one of the programs. Where
// all programs are the same, the script is that program. Else the number of the task, which is in
// the environment variable, from 1 on, selects one file for each program.
func writeScript(folder, variable string, programs [][]string) (path string, err error) {
	if err := os.Mkdir(folder, 0o755); err != nil { //nolint:gosec // jobs may run as another user
		return "", err
	}
	path = filepath.Join(folder, "script")
	line := "exec " + shellwords.Join(programs[0])
	if slices.ContainsFunc(programs, func(p []string) bool { return !slices.Equal(p, programs[0]) }) {
		for i, p := range programs {
			if err := os.WriteFile(filepath.Join(folder, strconv.Itoa(i+1)), []byte("exec "+shellwords.Join(p)+"\n"), 0o644); err != nil { //nolint:gosec // as above
				return "", err
			}
		}
		line = fmt.Sprintf(`. %s/"$%s"`, folder, variable)
	}
	return path, os.WriteFile(path, []byte("#!/bin/sh\n"+line+"\n"), 0o755) //nolint:gosec // as above
}

// recordsEvery is the pause between two looks at a file of records.
const recordsEvery = 10 * time.Millisecond

// awaitRecords waits until n lines follow the offset of a file, to which a scheduler writes
// one for each task that has ended. parse returns why the task of a line failed, "" for one
// that did not, and false for a line that is no such record.
func awaitRecords(ctx context.Context, path string, offset int64, n int, parse func(line string) (why string, ok bool)) error {
	tick := time.NewTicker(recordsEvery)
	defer tick.Stop()
	var failed error
	for rest := ""; ; {
		added, err := readFrom(path, offset)
		if err != nil {
			return err
		}
		offset += int64(len(added))
		rest += added
		for n > 0 {
			line, after, whole := strings.Cut(rest, "\n")
			if !whole {
				break
			}
			rest = after
			why, ok := parse(line)
			if !ok {
				continue
			}
			if n--; why != "" && failed == nil {
				failed = fmt.Errorf("a task failed: %s", why)
			}
		}
		if n == 0 {
			return failed
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("%d tasks have not ended: %w", n, context.Cause(ctx))
		}
	}
}

// readFrom returns the content after an offset of a file; nothing for a file that is not
// there yet.
func readFrom(path string, offset int64) (string, error) {
	f, err := os.Open(path)
	if os.IsNotExist(err) {
		return "", nil
	} else if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }() // only read
	info, err := f.Stat()
	if err != nil || info.Size() <= offset {
		return "", err
	}
	text := make([]byte, info.Size()-offset)
	n, err := f.ReadAt(text, offset)
	if n < len(text) && err != nil {
		return "", err
	}
	return string(text), nil
}

// size returns that of a file, 0 of none.
func size(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}
