package journal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

const (
	lockFile   = "LOCK"   // the store's; the lock is the system's and ends with the process
	holderFile = "HOLDER" // who has it, in words, for the one who meets it
)

// dirLock is the right to use a folder.
type dirLock struct {
	lock   *pebble.Lock
	holder string // path
}

// lockDir makes the folder if need be and takes it for this process.
func lockDir(dir string, fs vfs.FS) (*dirLock, error) {
	if err := fs.MkdirAll(dir, 0o755); err != nil {
		return nil, folderErr(dir, "making the folder", err)
	}
	holder := filepath.Join(dir, holderFile)
	lock, err := pebble.LockDirectory(dir, fs)
	if err != nil {
		if _, ok := errors.AsType[*os.PathError](err); ok {
			return nil, folderErr(dir, "taking its lock", err)
		}
		who, _ := os.ReadFile(holder) // only words for the error
		return nil, lockedErr(dir, filepath.Join(dir, lockFile), strings.TrimSpace(string(who)), err)
	}
	host, _ := os.Hostname() // only words for the error of another process
	words := fmt.Sprintf("process %d of host %s (%s)\n", os.Getpid(), host, filepath.Base(os.Args[0]))
	if err := os.WriteFile(holder, []byte(words), 0o644); err != nil {
		return nil, errors.Join(folderErr(dir, "writing into the folder", err), lock.Close())
	}
	return &dirLock{lock, holder}, nil
}

func (l *dirLock) release() error {
	return errors.Join(os.Remove(l.holder), l.lock.Close())
}
