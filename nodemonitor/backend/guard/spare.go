package guard

import (
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// reuse makes the working folder from one that an ended process has left, and reports whether it
// did. A disk with a journal takes many times as long to make a folder as to rename one.
func (s *Spec) reuse() bool {
	if !s.MakeDir || s.Spare == "" {
		return false
	}
	above, err := unix.Open(filepath.Dir(s.Spare), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	// The loop waits for this, so it must not be a file system that the folder's user has mounted there.
	fd, err := unix.Openat2(above, filepath.Base(s.Spare), &unix.OpenHow{
		Flags: unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_XDEV | unix.RESOLVE_NO_SYMLINKS,
	})
	_ = unix.Close(above) // nothing was written
	if err != nil {
		return false // gone meanwhile, or Linux before 5.6
	}
	defer func() { _ = unix.Close(fd) }() // only read
	var was, is unix.Stat_t
	if unix.Fstat(fd, &was) != nil || !s.wouldMake(&was) || !isBare(fd) {
		return false
	}
	if unix.Renameat2(unix.AT_FDCWD, s.Spare, unix.AT_FDCWD, s.Dir, unix.RENAME_NOREPLACE) != nil {
		return false
	}
	// Another folder or a link may have got the name meanwhile: then makeOwn decides.
	return unix.Lstat(s.Dir, &is) == nil && is.Dev == was.Dev && is.Ino == was.Ino
}

// wouldMake reports whether a folder has the owner and the mode of one that makeOwn makes.
func (s *Spec) wouldMake(folder *unix.Stat_t) bool {
	uid, gid := uint32(os.Geteuid()), folder.Gid //nolint:gosec // no user has a negative number on Linux
	if s.As != nil {
		uid, gid = s.As.UID, s.As.GID
	}
	return folder.Uid == uid && folder.Gid == gid && folder.Mode&0o7777 == 0o700
}

// isBare reports whether a folder is empty and has no attributes that files in it could inherit;
// the label of the system's security module is the same for all of them.
func isBare(folder int) bool {
	buf := make([]byte, 4096)
	n, err := unix.Flistxattr(folder, buf)
	if err != nil && err != unix.ENOTSUP {
		return false
	}
	for name := range strings.SplitSeq(string(buf[:max(n, 0)]), "\x00") {
		if name != "" && !strings.HasPrefix(name, "security.") {
			return false
		}
	}
	for {
		n, err := unix.ReadDirent(folder, buf)
		if err != nil {
			return false
		}
		if n == 0 {
			return true
		}
		if _, names, _ := unix.ParseDirent(buf[:n], 1, nil); names > 0 {
			return false
		}
	}
}
