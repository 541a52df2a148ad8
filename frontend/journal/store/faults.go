package store

import (
	"fmt"
	"sort"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// Faults describes a disk that fails, for tests. The zero value describes one that does
// not.
type Faults struct {
	Slow        time.Duration // of every fsync
	WriteErrors int64         // writes after which every write fails with EIO; 0: never
	FsyncErrors int64         // the same for fsyncs
	FullAfter   int64         // bytes after which the disk is full; 0: never
}

// faultKeys are the keys of [ParseFaults] with what they set.
var faultKeys = map[string]func(f *Faults, value string) (err error){
	"slow":              func(f *Faults, v string) (err error) { f.Slow, err = time.ParseDuration(v); return err },
	"write-error-after": func(f *Faults, v string) (err error) { f.WriteErrors, err = positive(v); return err },
	"fsync-error-after": func(f *Faults, v string) (err error) { f.FsyncErrors, err = positive(v); return err },
	"enospc-after":      func(f *Faults, v string) (err error) { f.FullAfter, err = positive(v); return err },
}

func positive(v string) (int64, error) {
	n, err := strconv.ParseInt(v, 10, 64)
	if err == nil && n < 1 {
		err = fmt.Errorf("%d is not 1 or more", n)
	}
	return n, err
}

// ParseFaults reads faults as KEY=VALUE, separated by commas: slow (a duration),
// write-error-after and fsync-error-after (calls), enospc-after (bytes).
func ParseFaults(text string) (f Faults, err error) {
	for part := range strings.SplitSeq(text, ",") {
		if text == "" {
			break
		}
		key, value, _ := strings.Cut(part, "=")
		set := faultKeys[key]
		if set == nil {
			var known []string
			for k := range faultKeys {
				known = append(known, k)
			}
			sort.Strings(known)
			return Faults{}, fmt.Errorf("%q is no fault of a disk; use %s", key, strings.Join(known, ", "))
		}
		if err := set(&f, value); err != nil {
			return Faults{}, fmt.Errorf("the fault %s: %w", key, err)
		}
	}
	return f, nil
}

// On returns the disk with the faults. They count from now on, over all its files.
func (f Faults) On(fs FS) FS {
	if f == (Faults{}) {
		return fs
	}
	var writes, syncs atomic.Int64
	after := func(count *atomic.Int64, limit int64) error {
		if limit > 0 && count.Add(1) > limit {
			return syscall.EIO
		}
		return nil
	}
	faulty := errorfs.Wrap(fs, errorfs.InjectorFunc(func(op errorfs.Op) error {
		switch op.Kind {
		case errorfs.OpFileWrite, errorfs.OpFileWriteAt:
			return after(&writes, f.WriteErrors)
		case errorfs.OpFileSync, errorfs.OpFileSyncData, errorfs.OpFileSyncTo:
			time.Sleep(f.Slow)
			return after(&syncs, f.FsyncErrors)
		default:
			return nil
		}
	}))
	if f.FullAfter == 0 {
		return faulty
	}
	return &fullFS{FS: faulty, room: f.FullAfter, used: new(atomic.Int64)}
}

// fullFS is a disk that has room for a given number of bytes. Removing a file frees no
// room, and files are not reused.
type fullFS struct {
	vfs.FS
	room int64
	used *atomic.Int64
}

// take takes room for n bytes.
func (f *fullFS) take(n int) error {
	if f.used.Add(int64(n)) > f.room {
		f.used.Add(-int64(n))
		return syscall.ENOSPC
	}
	return nil
}

// Create implements vfs.FS.
func (f *fullFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	file, err := f.FS.Create(name, c)
	if err != nil {
		return nil, err
	}
	return &fullFile{file, f}, nil
}

// GetDiskUsage implements vfs.FS.
func (f *fullFS) GetDiskUsage(path string) (vfs.DiskUsage, error) {
	u, err := f.FS.GetDiskUsage(path)
	u.AvailBytes = min(u.AvailBytes, uint64(max(f.room-f.used.Load(), 0)))
	return u, err
}

// Unwrap implements vfs.FS.
func (f *fullFS) Unwrap() vfs.FS { return f.FS }

// fullFile is a file on it. What is overwritten in place takes no room.
type fullFile struct {
	vfs.File
	fs *fullFS
}

func (f *fullFile) Write(p []byte) (int, error) {
	if err := f.fs.take(len(p)); err != nil {
		return 0, err
	}
	return f.File.Write(p)
}
