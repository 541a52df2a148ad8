package journal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/pigeon-sched/pigeon/frontend/journal/store"
)

// holderFile names the process that has the lock, for the error of another one.
const holderFile = "HOLDER"

// dirLock is the right to use a folder.
type dirLock struct {
	fs     store.FS
	lock   *store.DirLock
	holder string // path
}

// lockDir makes the folder if need be and locks it for this process.
func lockDir(fs store.FS, dir string) (*dirLock, error) {
	if err := store.MakeFolder(fs, dir); err != nil {
		return nil, folderErr(dir, "making the folder", err)
	}
	holder := filepath.Join(dir, holderFile)
	lock, err := store.Lock(fs, dir)
	if err != nil {
		if _, ok := errors.AsType[*os.PathError](err); ok {
			return nil, folderErr(dir, "locking it", err)
		}
		name, _ := store.ReadFile(fs, holder) // only for the text of the error
		return nil, lockedErr(dir, filepath.Join(dir, store.LockFile), strings.TrimSpace(string(name)), err)
	}
	host, _ := os.Hostname() // only for the error of another process
	name := fmt.Sprintf("process %d of host %s (%s)\n", os.Getpid(), host, filepath.Base(os.Args[0]))
	if err := store.WriteFile(fs, holder, name); err != nil {
		return nil, errors.Join(folderErr(dir, "writing into the folder", err), lock.Release())
	}
	return &dirLock{fs, lock, holder}, nil
}

func (l *dirLock) release() error {
	return errors.Join(l.fs.Remove(l.holder), l.lock.Release())
}
