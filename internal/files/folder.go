package files

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/pigeon-sched/pigeon/internal/api"
)

// The modes of the folders in which daemons keep their files.
const (
	// Private is that of a folder that its owner alone may enter.
	Private fs.FileMode = 0o700
	// Passable is that of a folder that others may traverse to their own files below it, but not
	// list.
	Passable fs.FileMode = 0o711
)

// others are the permissions that only the owner may have on files.
const others fs.FileMode = 0o077

// Keep makes the folder in which a daemon keeps its private files, and gives it the mode. One
// that exists must be this user's: with another owner, or when others may have written in it,
// its content is not trusted, and the error says how to fix that. Permissions of an earlier
// version, which let others read, are taken away from the folder and the files in it, which is
// logged. That is done only to a folder which is empty or has one of the marks, the names of entries
// that such a daemon makes: a folder like /var/lib, given by mistake, is refused and left as it is.
func Keep(path string, mode fs.FileMode, log *slog.Logger, marks ...string) error {
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = os.MkdirAll(path, Private)
	}
	if err != nil {
		return distrust(path, "the folder cannot be made: "+err.Error(), "give another folder, or allow it to this user")
	}
	if err := checkOwner(path); err != nil {
		return err
	}
	list, err := os.ReadDir(path)
	if err != nil {
		return distrust(path, "the folder cannot be read: "+err.Error(), "give another folder, or allow it to this user")
	}
	info, err := os.Stat(path)
	if err != nil {
		return distrust(path, err.Error(), "give another folder")
	}
	if len(list) > 0 && info.Mode().Perm()&0o022 != 0 {
		return distrust(path, "other users may write in it, so that what it holds may be theirs", fmt.Sprintf("look at it, then run: chmod %o %s", mode, quoted(path)))
	}
	if foreign := foreignEntry(list, marks); foreign != "" && info.Mode().Perm()&^mode != 0 {
		return distrust(path, fmt.Sprintf("it holds %q, which is not of this daemon, and other users may enter it: making it private would take that from them", foreign),
			fmt.Sprintf("give this daemon a folder of its own; or, if what this one holds is for this user alone, run: chmod %o %s", mode, quoted(path)))
	}
	tightened, err := tightenFiles(path, list)
	if info.Mode().Perm() != mode && err == nil {
		tightened = tightened || info.Mode().Perm()&^mode != 0 && len(list) > 0
		err = os.Chmod(path, mode)
	}
	if err != nil {
		return distrust(path, "its permissions cannot be changed: "+err.Error(), fmt.Sprintf("run: chmod %o %s", mode, quoted(path)))
	}
	if tightened && log != nil {
		log.Info("a folder, or files in it, could be read by other users, as earlier versions made them; now they cannot", "folder", path)
	}
	return nil
}

// foreignEntry returns the name of an entry of a folder that no daemon has used yet, "" when it is
// empty or has been used.
func foreignEntry(list []fs.DirEntry, marks []string) (name string) {
	for _, e := range list {
		switch {
		case slices.Contains(marks, e.Name()) && e.Type()&fs.ModeSymlink == 0: // /var/lock is a link
			return ""
		case e.Name() != "lost+found": // which a volume of its own has
			name = e.Name()
		}
	}
	return name
}

// checkOwner refuses a folder of another user, or a link to one that another user may change.
func checkOwner(path string) error {
	for _, stat := range []func(string) (fs.FileInfo, error){os.Lstat, os.Stat} {
		info, err := stat(path)
		if err != nil {
			return distrust(path, err.Error(), "give another folder")
		}
		owner := Owner(info)
		if info.Mode()&fs.ModeSymlink != 0 && owner == 0 {
			continue // root could do anything anyway
		}
		if owner != os.Geteuid() {
			return distrust(path, fmt.Sprintf("it belongs to user %d, and this process runs as user %d: what it holds is not trusted", owner, os.Geteuid()),
				fmt.Sprintf("give another folder, or remove this one, or, if what it holds is right, run: chown -R %d %s", os.Geteuid(), quoted(path)))
		}
	}
	return nil
}

// tightenFiles takes the permissions of others from the files in a folder. A file there that
// another user owns is refused.
func tightenFiles(path string, list []fs.DirEntry) (tightened bool, err error) {
	for _, e := range list {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() {
			continue // removed meanwhile, or with its own permissions
		}
		file := filepath.Join(path, e.Name())
		if owner := Owner(info); owner != os.Geteuid() {
			return tightened, fmt.Errorf("file %s belongs to user %d", file, owner)
		}
		if info.Mode().Perm()&others == 0 {
			continue
		}
		if err := os.Chmod(file, info.Mode().Perm()&^others); err != nil {
			return tightened, err
		}
		tightened = true
	}
	return tightened, nil
}

// Owner returns the number of a file's user.
func Owner(info fs.FileInfo) int {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(s.Uid)
	}
	return -1
}

func distrust(path, what, next string) error {
	return &api.Error{Problem: api.Invalid, What: what, Subject: "folder " + path, Tried: "keeping data in it", Next: next}
}

// OpenPrivate opens a file of a daemon for writing, with the flags of [os.OpenFile], so that this
// user alone may read it. A file of another user is refused.
func OpenPrivate(path string, flag int) (*os.File, error) {
	f, err := os.OpenFile(path, flag&^os.O_TRUNC|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && info.Mode().IsRegular() {
		switch owner := Owner(info); {
		case owner != os.Geteuid():
			err = fmt.Errorf("%s belongs to user %d, and this process runs as user %d; remove it, or name another file", path, owner, os.Geteuid())
		case info.Mode().Perm()&others != 0:
			err = f.Chmod(info.Mode().Perm() &^ others)
		}
		if err == nil && flag&os.O_TRUNC != 0 {
			err = f.Truncate(0)
		}
	}
	if err != nil {
		_ = f.Close() // nothing was written
		return nil, err
	}
	return f, nil
}

// Writable returns why no file can be made in a folder, nil when one can.
func Writable(folder string) error {
	f, err := os.CreateTemp(folder, ".writable-")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}
