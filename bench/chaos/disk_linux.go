package chaos

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// diskSize is the size of a small disk in bytes: the space that a journal keeps free, and a little
// more.
const diskSize = 320 << 20

// disk is a small file system in memory, which only this program and its child processes see.
type disk struct{ dir string }

// newDisk mounts a small disk at a new folder. It works only in a mount namespace of this
// program's own.
func newDisk(dir string) (*disk, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	if err := unix.Mount("none", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return nil, fmt.Errorf("making mounts private: %w", err)
	}
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d", diskSize)); err != nil {
		return nil, fmt.Errorf("mounting a small disk: %w", err)
	}
	return &disk{dir}, nil
}

// fill takes a share of the free space until the returned function is called.
func (d *disk) fill(share float64) (empty func(), err error) {
	path := filepath.Join(d.dir, "filler")
	empty = func() { _ = os.Remove(path) } // it may not exist
	f, err := os.Create(path)
	if err != nil {
		return empty, err
	}
	defer f.Close() //nolint:errcheck // its content does not matter
	var free unix.Statfs_t
	if err := unix.Statfs(d.dir, &free); err != nil {
		return empty, err
	}
	bytes := int64(share * float64(free.Bfree) * float64(free.Bsize))
	err = unix.Fallocate(int(f.Fd()), 0, 0, max(1, bytes))
	if errors.Is(err, unix.ENOSPC) {
		err = nil // other files took the rest
	}
	return empty, err
}

// keep copies what is on the disk to a folder that stays.
func (d *disk) keep(to string) error { return os.CopyFS(to, os.DirFS(d.dir)) }

// unmount removes the disk.
func (d *disk) unmount() error { return unix.Unmount(d.dir, unix.MNT_DETACH) }

// exchange gives two files or folders each other's names, in one step.
func exchange(a, b string) error {
	return unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
}
