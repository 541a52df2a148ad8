package journal

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/pigeon-sched/pigeon/frontend/journal/store"
)

// MarkFile is the name of the file that marks a folder as a journal.
const MarkFile = formatFile

// Exists reports whether a folder holds a journal.
func Exists(disk store.FS, dir string) bool {
	_, err := disk.Stat(filepath.Join(dir, formatFile))
	return err == nil
}

const (
	formatFile = "FORMAT"

	// formatVersion is what this program writes. Format 1 had the same values under
	// the same keys, and neither numbers of batches nor a witness; it becomes format
	// 2 when it is opened, and only the store's own checks cover what it held before.
	formatVersion = 2
	firstNumbered = 2 // the first format with numbers of batches and a witness
)

// format is the content of the file that marks a folder as a journal.
type format struct {
	version     int    // 0 when the folder holds no journal
	frontend    string // that it belongs to, "" for any
	incarnation uint64 // the last that was begun
}

// readFormat reads whether the folder holds a journal, and checks that it is one
// that this program can read and that it belongs to the frontend.
func readFormat(disk store.FS, dir, frontend string) (f format, err error) {
	path := filepath.Join(dir, formatFile)
	data, err := store.ReadFile(disk, path)
	if errors.Is(err, fs.ErrNotExist) {
		return format{frontend: frontend}, nil
	}
	if err != nil {
		return f, folderErr(dir, "reading what it holds", err)
	}
	first, rest, _ := strings.Cut(string(data), "\n")
	if _, err := fmt.Sscanf(first, "pigeon journal %d", &f.version); err != nil || f.version < 1 {
		return f, damageErr(dir, path, "its first line is not \"pigeon journal\" and a version", nil)
	}
	if f.version > formatVersion {
		return f, newerErr(dir, f.version)
	}
	if _, err := fmt.Sscanf(rest, "frontend %q incarnation %d\n", &f.frontend, &f.incarnation); err != nil {
		return f, damageErr(dir, path, "its second line does not name a frontend and an incarnation", nil)
	}
	if frontend != "" && f.frontend != "" && f.frontend != frontend {
		return f, foreignErr(dir, f.frontend, frontend)
	}
	f.frontend = cmp.Or(f.frontend, frontend)
	return f, nil
}

// writeFormat marks the folder as a journal after the incarnation is in the
// store, so that a store that is missing, or an older one in its place, is
// detected at the next opening.
func writeFormat(disk store.FS, dir, frontend string, incarnation uint64) error {
	path := filepath.Join(dir, formatFile)
	err := store.WriteFile(disk, path+".new", fmt.Sprintf("pigeon journal %d\nfrontend %q incarnation %d\n", formatVersion, frontend, incarnation))
	if err == nil {
		err = disk.Rename(path+".new", path)
	}
	if err == nil {
		err = store.SyncFolder(disk, dir)
	}
	if err != nil {
		return folderErr(dir, "marking it as a journal", err)
	}
	return nil
}
