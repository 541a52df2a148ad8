package logs

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

const (
	probeFile = "probe"
	probeSize = 64 << 10 // more than what a file system keeps inside an inode
	// usualFree, or a twentieth of a smaller disk, has to be free by default.
	usualFree = 64 << 20
	freePart  = 20
)

// Probe returns why an attempt could not write here now, nil when one could. It writes a file, which
// it removes, and looks whether the disk is mounted noexec and has minFree bytes free; 0 stands for
// 64 MiB, or a twentieth of a disk where that is less.
func (s *Store) Probe(minFree int64) error {
	if err := s.makeRoot(); err != nil {
		return err
	}
	return check(s.cfg.Root, probeFile, minFree)
}

// Check is Probe for a folder that need not be a store's.
func Check(folder string, minFree int64) error {
	return check(folder, fmt.Sprintf("pigeon-probe-%d", os.Getpid()), minFree)
}

func check(folder, name string, minFree int64) error {
	path := filepath.Join(folder, name)
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) { // of a process that was killed meanwhile
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(bytes.Repeat([]byte{'.'}, probeSize))
	if err = errors.Join(err, f.Close(), os.Remove(path)); err != nil {
		return err
	}
	return checkDisk(folder, minFree)
}

// checkDisk returns an error when scripts cannot run on the disk of a folder, or less than minFree bytes are
// free for this user.
func checkDisk(folder string, minFree int64) error {
	var disk unix.Statfs_t
	if err := unix.Statfs(folder, &disk); err != nil {
		return fmt.Errorf("statfs %s: %w", folder, err)
	}
	if disk.Flags&unix.MS_NOEXEC != 0 {
		return fmt.Errorf("the disk of %s is mounted noexec, and scripts and programs that are sent with jobs run from there; mount it with exec, or name another folder (work_dir)", folder)
	}
	blocks := disk.Bavail
	if os.Geteuid() == 0 {
		blocks = disk.Bfree // also those that are kept for root
	}
	size, free := int64(disk.Blocks)*disk.Bsize, int64(blocks)*disk.Bsize //nolint:gosec // far below 2^63
	if minFree == 0 {
		minFree = min(usualFree, size/freePart)
	}
	if free < minFree {
		return fmt.Errorf("%d bytes are free on the disk of %s, and %d have to be (min_free_disk)", free, folder, minFree)
	}
	return nil
}
