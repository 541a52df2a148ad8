package files

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// Replace puts a file with this content and mode in place of what is at its path. A reader of
// the path sees the old content or all of the new content, also after a power failure. A link
// at the path is replaced, not followed.
func Replace(path string, mode fs.FileMode, content []byte) error {
	return replace(path, mode, content, nil)
}

// Rewrite is [Replace], except that the file keeps the mode, the owner and the group that it has: who
// could read it before can read it after. The mode given is that of a file that is not there yet.
func Rewrite(path string, mode fs.FileMode, content []byte) error {
	old, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Replace(path, mode, content)
	}
	if err != nil {
		return err
	}
	if !old.Mode().IsRegular() {
		return Replace(path, mode, content)
	}
	return replace(path, old.Mode().Perm(), content, func(part string) error { return giveOwner(part, old) })
}

// giveOwner gives a file the group of another one, and its owner, which only root can.
func giveOwner(path string, like fs.FileInfo) error {
	want, known := like.Sys().(*syscall.Stat_t)
	if !known {
		return nil
	}
	uid := -1 // it stays
	if os.Geteuid() == 0 {
		uid = int(want.Uid)
	}
	return os.Lchown(path, uid, int(want.Gid))
}

// replace puts a file in place of another one, after finish, which may be nil.
func replace(path string, mode fs.FileMode, content []byte, finish func(part string) error) error {
	part, err := writePart(path, mode, content)
	if err != nil {
		return err
	}
	if finish != nil {
		err = finish(part)
	}
	if err == nil {
		err = os.Rename(part, path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(part))
	}
	return syncFolder(filepath.Dir(path))
}

// writePart writes a file next to the path, and returns its name. After an error nothing is
// left.
func writePart(path string, mode fs.FileMode, content []byte) (string, error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*") // its mode is 0600
	if err != nil {
		return "", err
	}
	_, err = f.Write(content)
	if err == nil {
		err = f.Chmod(mode)
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return "", errors.Join(err, os.Remove(f.Name()))
	}
	return f.Name(), nil
}

// syncFolder makes the names in a folder durable.
func syncFolder(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// Lock waits until no other caller, of any process, has the folder, and takes it. The end of
// the process unlocks it too.
func Lock(dir string) (unlock func(), err error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	for {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() {
		// A child that another goroutine has forked has a copy of the file until it executes its
		// program, and with that copy the lock.
		_ = unix.Flock(int(f.Fd()), unix.LOCK_UN) // an end of the last copy unlocks too
		_ = f.Close()                             // nothing was written by it
	}, nil
}
