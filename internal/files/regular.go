package files

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// The functions of this file are for folders that a task or an executor may write in: it
// may replace any name there, at any moment, by a link, a named pipe or a device. They
// follow no link, and never wait.

// IrregularError reports a name that is not what it must be.
type IrregularError struct {
	Name string // the last element of its path
	Is   string // what it is: "a symbolic link"
	Want string // what it must be: "a regular file"
}

// Error names both.
func (e *IrregularError) Error() string {
	return fmt.Sprintf("%s is %s, not %s", e.Name, e.Is, e.Want)
}

func irregular(name string, m fs.FileMode, want string) error {
	is := "something else"
	for _, k := range []struct {
		mode fs.FileMode
		is   string
	}{
		{fs.ModeSymlink, "a symbolic link"}, {fs.ModeNamedPipe, "a named pipe"}, {fs.ModeSocket, "a socket"},
		{fs.ModeDevice, "a device"}, {fs.ModeDir, "a folder"},
	} {
		if m&k.mode != 0 {
			is = k.is
			break
		}
	}
	if m.IsRegular() {
		is = "a file"
	}
	return &IrregularError{Name: name, Is: is, Want: want}
}

// errReplaced reports a name that became another file between two looks at it.
var errReplaced = errors.New("it was replaced while it was opened")

// Below opens the folder to which the names lead below a trusted folder.
func Below(root string, names ...string) (*os.Root, error) {
	at, err := os.OpenRoot(root)
	for _, name := range names {
		if err != nil {
			return nil, err
		}
		var next *os.Root
		next, err = Into(at, name)
		_ = at.Close() // nothing was written
		at = next
	}
	return at, err
}

// Into opens a folder in a folder.
func Into(at *os.Root, name string) (*os.Root, error) {
	seen, err := at.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !seen.IsDir() {
		return nil, irregular(name, seen.Mode(), "a folder")
	}
	next, err := at.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	if got, err := next.Stat("."); err != nil || !os.SameFile(seen, got) {
		return nil, errors.Join(errReplaced, err, next.Close())
	}
	return next, nil
}

// OpenRegular opens a regular file in a folder for reading.
func OpenRegular(in *os.Root, name string) (*os.File, error) {
	seen, err := in.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !seen.Mode().IsRegular() {
		return nil, irregular(name, seen.Mode(), "a regular file")
	}
	f, err := in.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // it may be a pipe by now
	if err != nil {
		return nil, err
	}
	if got, err := f.Stat(); err != nil || !os.SameFile(seen, got) {
		return nil, errors.Join(errReplaced, err, f.Close())
	}
	return f, nil
}

// CreateRegular makes a new file, which replaces what is at its path. The folder of
// the file must not be a link either.
func CreateRegular(path string) (*os.File, error) {
	dir, name := filepath.Split(filepath.Clean(path))
	in, err := Below(filepath.Dir(filepath.Clean(dir)), filepath.Base(dir))
	if err != nil {
		return nil, err
	}
	defer func() { _ = in.Close() }() // the file has its own descriptor
	if err := in.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return in.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
}

// MakeFolder makes the folder to which the names lead below a trusted folder. Folders
// that exist are left alone; what is not a folder is removed.
func MakeFolder(root string, names ...string) error {
	if err := os.MkdirAll(root, 0o700); err != nil {
		return err
	}
	for i, name := range names {
		in, err := Below(root, names[:i]...)
		if err != nil {
			return err
		}
		if info, e := in.Lstat(name); e == nil && !info.IsDir() {
			err = in.Remove(name)
		}
		if e := in.Mkdir(name, 0o700); err == nil && e != nil && !errors.Is(e, fs.ErrExist) {
			err = e
		}
		if err = errors.Join(err, in.Close()); err != nil {
			return err
		}
	}
	return nil
}

// Size returns the bytes of the disk that the regular files at and below a name in a
// folder occupy. It follows no link. A file with holes occupies less than its length; what
// cannot be reached, or lies too deep, counts as empty.
func Size(in *os.Root, names ...string) (n int64) {
	for _, name := range names {
		info, err := in.Lstat(name)
		if err != nil || !info.IsDir() {
			if err == nil && info.Mode().IsRegular() {
				n += occupied(info)
			}
			continue
		}
		below, err := Into(in, name)
		if err != nil {
			continue // gone meanwhile, or locked by its owner
		}
		_ = Walk(below, func(_ string, info fs.FileInfo) error {
			if info.Mode().IsRegular() {
				n += occupied(info)
			}
			return nil
		})
		_ = below.Close() // only read
	}
	return n
}

// IsEmpty reports whether a name in a folder is that of a folder that holds nothing. It follows no
// link, and takes a fraction of what Size does.
func IsEmpty(in *os.Root, name string) bool {
	d, err := in.Open(name)
	if err != nil {
		return false
	}
	defer func() { _ = d.Close() }() // only read
	_, err = d.Readdirnames(1)
	return errors.Is(err, io.EOF)
}

// occupied returns the bytes of the disk that a file occupies, at most its length.
func occupied(info fs.FileInfo) int64 {
	const block = 512
	if s, ok := info.Sys().(*syscall.Stat_t); ok && s.Blocks < info.Size()/block {
		return s.Blocks * block
	}
	return info.Size()
}

// Give gives the folder to which the names lead below a trusted folder to a user, who alone
// may enter it.
func Give(uid, gid int, root string, names ...string) error {
	last := len(names) - 1
	in, err := Below(root, names[:last]...)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // nothing was written
	at, err := Into(in, names[last])
	if err != nil {
		return err
	}
	defer func() { _ = at.Close() }() // likewise
	folder, err := at.Open(".")
	if err != nil {
		return err
	}
	err = folder.Chmod(0o700) // first: the user may replace what is in it from then on
	if err == nil {
		err = folder.Chown(uid, gid)
	}
	return errors.Join(err, folder.Close())
}
