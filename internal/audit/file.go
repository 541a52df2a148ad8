package audit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/pigeon-sched/pigeon/internal/api"
)

// kept is how many full files stay in addition to the one that is written: file.1 is the latest of
// them.
const kept = 5

// file is the log on the disk. It belongs to one goroutine.
type file struct {
	path string
	most int64 // bytes, after which it is rotated
	f    *os.File
	size int64
}

// openFile opens or makes the file, whose mode is 0600 and which is no link.
func openFile(path string, most int64) (*file, error) {
	l := &file{path: path, most: most}
	if err := l.open(); err != nil {
		return nil, &api.Error{
			Problem: api.Invalid, Subject: "audit log " + path, What: err.Error(), Tried: "opening it",
			Next: "name a file in a folder of this daemon's user (audit_log), which nobody else can write in",
		}
	}
	return l, nil
}

func (l *file) open() error {
	f, err := os.OpenFile(l.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600) //nolint:gosec // the operator names it
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err == nil {
		err = trusted(info)
	}
	if err != nil {
		return errors.Join(err, f.Close())
	}
	l.f, l.size = f, info.Size()
	return nil
}

// trusted returns why a file cannot be relied on.
func trusted(info fs.FileInfo) error {
	owner, known := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.Mode().IsRegular():
		return errors.New("it is no regular file")
	case info.Mode().Perm()&0o077 != 0:
		return fmt.Errorf("others can read or write it (mode %#o); give it mode 0600", info.Mode().Perm())
	case known && int64(owner.Uid) != int64(os.Geteuid()):
		return fmt.Errorf("it belongs to user %d, and this daemon runs as user %d", owner.Uid, os.Geteuid())
	}
	return nil
}

// write appends whole lines, to a new file when this one is full.
func (l *file) write(lines []byte) error {
	if l.f == nil {
		if err := l.open(); err != nil {
			return err
		}
	}
	if l.size > 0 && l.size+int64(len(lines)) > l.most {
		if err := l.rotate(); err != nil {
			return err
		}
	}
	n, err := l.f.Write(lines)
	l.size += int64(n)
	return err
}

// rotate begins a new file, and removes the oldest.
func (l *file) rotate() error {
	err := l.f.Close()
	l.f = nil
	for i := kept; i > 1 && err == nil; i-- {
		if err = os.Rename(l.numbered(i-1), l.numbered(i)); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	}
	if err == nil {
		err = os.Rename(l.path, l.numbered(1))
	}
	if err != nil {
		return fmt.Errorf("rotating %s: %w", filepath.Base(l.path), err)
	}
	return l.open()
}

func (l *file) numbered(i int) string { return fmt.Sprintf("%s.%d", l.path, i) }

func (l *file) close() error {
	if l.f == nil {
		return nil
	}
	return l.f.Close()
}
