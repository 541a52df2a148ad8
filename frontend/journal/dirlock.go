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
	lock   *store.DirLock
	holder string // path
}

// lockDir makes the folder if need be and locks it for this process.
func lockDir(dir string) (*dirLock, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, folderErr(dir, "making the folder", err)
	}
	holder := filepath.Join(dir, holderFile)
	lock, err := store.Lock(dir)
	if err != nil {
		if _, ok := errors.AsType[*os.PathError](err); ok {
			return nil, folderErr(dir, "locking it", err)
		}
		name, _ := os.ReadFile(holder) // only for the text of the error
		return nil, lockedErr(dir, filepath.Join(dir, store.LockFile), strings.TrimSpace(string(name)), err)
	}
	host, _ := os.Hostname() // only for the error of another process
	name := fmt.Sprintf("process %d of host %s (%s)\n", os.Getpid(), host, filepath.Base(os.Args[0]))
	if err := os.WriteFile(holder, []byte(name), 0o644); err != nil {
		return nil, errors.Join(folderErr(dir, "writing into the folder", err), lock.Release())
	}
	return &dirLock{lock, holder}, nil
}

func (l *dirLock) release() error {
	return errors.Join(os.Remove(l.holder), l.lock.Release())
}
