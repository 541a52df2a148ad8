package journal

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Torn is a log that ended in the middle of a record.
type Torn struct {
	File    string
	Whole   int64 // bytes of whole records, which were kept
	Dropped int64 // bytes cut off behind them
}

// logName is a log of the store: its path and number.
type logName struct {
	path   string
	number uint64
}

// listLogs returns the logs of the store, oldest first.
func listLogs(dir string) ([]logName, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, folderErr(dir, "listing it", err)
	}
	var logs []logName
	for _, e := range entries {
		digits, ok := strings.CutSuffix(e.Name(), ".log")
		if n, err := strconv.ParseUint(digits, 10, 64); ok && err == nil {
			logs = append(logs, logName{filepath.Join(dir, e.Name()), n})
		}
	}
	slices.SortFunc(logs, func(a, b logName) int { return cmp.Compare(a.number, b.number) })
	return logs, nil
}

// checkLogs reads the store's logs before the store does. It refuses a log that
// is damaged in its middle, and cuts a torn end off the newest one, so that the
// store sees whole records only and nothing is dropped without a word.
func checkLogs(dir string, store vfs.FS) (torn []Torn, err error) {
	logs, err := listLogs(dir)
	if err != nil {
		return nil, err
	}
	m, err := readManifest(dir, store, logs)
	if m == nil {
		return nil, err
	}
	if m.torn != nil {
		torn = append(torn, *m.torn) // left as it is: the store begins a new manifest
	}
	logs = slices.DeleteFunc(logs, func(l logName) bool { return l.number < m.firstLog })
	for i, l := range logs {
		w, size, err := checkLog(dir, l, logs[i+1:], logs)
		if err != nil {
			return nil, err
		}
		if !w.torn() {
			continue
		}
		if err := cut(dir, l.path, int64(w.whole)); err != nil {
			return nil, err
		}
		torn = append(torn, Torn{l.path, int64(w.whole), int64(size - w.whole)})
	}
	return torn, nil
}

// checkLog reads one log and gives its size too. A torn end is damage when
// records were written after it, to a later log.
func checkLog(dir string, l logName, later, all []logName) (w walk, size int, err error) {
	data, err := os.ReadFile(l.path)
	if err != nil {
		return w, 0, folderErr(dir, "reading "+l.path, err)
	}
	w = walkLog(data, uint32(l.number), nil)
	if w.proven {
		return w, 0, damageErr(dir, l.path, fmt.Sprintf("the bytes from %d on are not what was written, and whole records follow them", w.fault), unfinishedIn(all))
	}
	if !w.torn() {
		return w, len(data), nil
	}
	for _, next := range later {
		more, err := os.ReadFile(next.path)
		if err != nil {
			return w, 0, folderErr(dir, "reading "+next.path, err)
		}
		if walkLog(more, uint32(next.number), nil).records > 0 {
			return w, 0, damageErr(dir, l.path, fmt.Sprintf("it ends in the middle of a record at byte %d, and %s goes on after it", w.whole, next.path), unfinishedIn(all))
		}
	}
	return w, len(data), nil
}

// cut drops what follows the last whole record.
func cut(dir, path string, whole int64) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err == nil {
		err = errors.Join(f.Truncate(whole), f.Sync(), f.Close())
	}
	if err != nil {
		return folderErr(dir, "cutting a torn end off "+path, err)
	}
	return nil
}
