package logs

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

const (
	probeFile = "probe"
	probeSize = 64 << 10 // more than what a file system keeps inside an inode
	// usualFree, or a twentieth of a smaller disk, has to be free by default.
	usualFree = 64 << 20
	freePart  = 20
)

// Probe returns why an attempt could not write here now, nil when one could. It writes a file, which
// it removes, and compares what is free on the disk with minFree bytes; 0 stands for 64 MiB, or a
// twentieth of a disk where that is less.
func (s *Store) Probe(minFree int64) error {
	if err := s.makeRoot(); err != nil {
		return err
	}
	path := filepath.Join(s.cfg.Root, probeFile)
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
	return s.checkFree(minFree)
}

// checkFree returns an error when less than minFree bytes are free for this user.
func (s *Store) checkFree(minFree int64) error {
	var disk syscall.Statfs_t
	if err := syscall.Statfs(s.cfg.Root, &disk); err != nil {
		return fmt.Errorf("statfs %s: %w", s.cfg.Root, err)
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
		return fmt.Errorf("%d bytes are free on the disk of %s, and %d have to be (min_free_disk)", free, s.cfg.Root, minFree)
	}
	return nil
}
