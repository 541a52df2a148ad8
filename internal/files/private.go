package files

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/text"
)

// ReadPrivate reads a file that holds a secret, of most bytes at most. A file that other users
// may read or write is refused with the command that fixes it, and so is one that belongs
// neither to this user nor to root: the owner of a file can read and change it. what is what
// the file holds, for the error: "the access token". The error is an *api.Error that wraps
// nothing, except that for a missing file it is fs.ErrNotExist.
func ReadPrivate(path, what string, most int64) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe is not waited for
	if err != nil {
		return nil, unreadable(path, what, err)
	}
	defer func() { _ = f.Close() }() // only read
	info, err := f.Stat()
	if err != nil {
		return nil, unreadable(path, what, err)
	}
	if err := checkPrivate(path, what, info, 0o077); err != nil {
		return nil, err
	}
	content, err := io.ReadAll(io.LimitReader(f, most+1))
	switch {
	case err != nil:
		return nil, unreadable(path, what, err)
	case int64(len(content)) > most:
		return nil, &api.Error{
			Problem: api.Invalid, Subject: "file " + path, Tried: "reading " + what,
			What: fmt.Sprintf("it has more than the limit of %d bytes", most), Next: "name another file",
		}
	}
	return content, nil
}

// CheckSecret refuses a file with a secret that another program reads, such as a key, which other users may read or
// change, or which belongs to another user than this one and root, with the command that fixes it. Root may let a
// group read its own, as supervisors of containers do.
func CheckSecret(path, what string) error {
	info, err := os.Stat(path)
	if err != nil {
		return unreadable(path, what, err)
	}
	forbidden := fs.FileMode(0o077)
	if s, ok := info.Sys().(*syscall.Stat_t); ok && s.Uid == 0 {
		forbidden = 0o037
	}
	return checkPrivate(path, what, info, forbidden)
}

// CheckFolder refuses a folder that other users may read or write, or that belongs to another
// user than this one and root, with the command that fixes it.
func CheckFolder(dir, what string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return unreadable(dir, what, err)
	}
	if !info.IsDir() {
		return &api.Error{Problem: api.Invalid, Subject: dir, What: "it is no folder", Tried: "reading " + what, Next: "name a folder"}
	}
	return checkPrivate(dir, what, info, 0o077)
}

// CheckOwned refuses a file that other users may write, or that belongs to another user than
// this one and root, with the command that fixes it. Others may read it.
func CheckOwned(path, what string, info fs.FileInfo) error {
	return checkPrivate(path, what, info, 0o022)
}

// checkPrivate refuses a file or folder with one of the forbidden bits in its mode, or of
// another owner.
func checkPrivate(path, what string, info fs.FileInfo, forbidden fs.FileMode) error {
	e := &api.Error{Problem: api.Denied, Subject: path, Tried: "reading " + what}
	mode := info.Mode().Perm()
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && stat.Uid != 0 && int64(stat.Uid) != int64(os.Geteuid()) {
		e.What = fmt.Sprintf("it belongs to the user with the number %d, who can read and change it", stat.Uid)
		e.Next = "copy it to a file of your own"
		return e
	}
	if mode&forbidden == 0 {
		return nil
	}
	e.What, e.Next = fmt.Sprintf("other users may read or change it (its mode is %04o)", mode), "run: chmod "+wanted(info)+" "+quoted(path)
	return e
}

func wanted(info fs.FileInfo) string {
	if info.IsDir() {
		return "700"
	}
	return "600"
}

// quoted returns a path as a shell takes it.
func quoted(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	return text.Quote(path)
}

// unreadable returns the error of a file that cannot be read.
func unreadable(path, what string, err error) error {
	e := &api.Error{Problem: api.Invalid, Subject: path, Tried: "reading " + what, What: "it cannot be read: " + err.Error(), Next: "name another file, or allow it to this user"}
	if errors.Is(err, fs.ErrNotExist) {
		e.Problem, e.What, e.Next = api.NotFound, "there is no such file", "name another one"
		return &missingError{e}
	}
	return e
}

// missingError is the error of a file that is not there, in four parts.
type missingError struct{ parts *api.Error }

func (e *missingError) Error() string   { return e.parts.Error() }
func (e *missingError) Unwrap() []error { return []error{e.parts, fs.ErrNotExist} }
