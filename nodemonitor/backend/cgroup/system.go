package cgroup

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// system is what this package needs of the machine. Tests replace parts of it.
type system struct {
	proc   string // where procfs is mounted
	pid    int
	uid    int
	create int // added to the flags of writes: the files of a real cgroup are there
	xattr  func(path, name string) string
	isV2   func(path string) bool
	remove func(path string) error
}

// machine returns the machine that this process runs on.
func machine() *system {
	return &system{proc: "/proc", pid: os.Getpid(), uid: os.Geteuid(), xattr: attribute, isV2: isV2, remove: unix.Rmdir}
}

// attribute returns an extended attribute of a file, "" where there is none.
func attribute(path, name string) string {
	value := make([]byte, 64)
	n, err := unix.Getxattr(path, name, value)
	if err != nil {
		return ""
	}
	return string(value[:n])
}

// isV2 reports whether a folder is one of the cgroup v2 file system.
func isV2(path string) bool {
	var s unix.Statfs_t
	return unix.Statfs(path, &s) == nil && s.Type == unix.CGROUP2_SUPER_MAGIC
}

// write writes one value to a file of a cgroup.
func (s *system) write(folder, file, value string) error {
	f, err := os.OpenFile(filepath.Join(folder, file), os.O_WRONLY|s.create, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(value)
	return errors.Join(err, f.Close())
}

// makeFolder makes a cgroup that may be there already.
func makeFolder(path string) error {
	if err := os.Mkdir(path, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// openFolder returns a descriptor of a cgroup, for the start of processes in it.
func openFolder(path string) (int, error) {
	return unix.Open(path, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
}

func closeFolder(fd int) { _ = unix.Close(fd) } // nothing was written
