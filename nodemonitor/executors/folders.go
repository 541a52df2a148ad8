package executors

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/pigeon-sched/pigeon/internal/files"
	"github.com/pigeon-sched/pigeon/nodemonitor/accounts"
)

// renew removes the folder of applications, with what an earlier process has left in it, and makes
// it again. The outputs there are kept.
func renew(cfg *Config, k *kept) error {
	left, err := os.ReadDir(cfg.Folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, folder := range left {
		k.take(filepath.Join(cfg.Folder, folder.Name()))
	}
	k.trim(time.Now())
	if err := files.RemoveAll(filepath.Dir(cfg.Folder), filepath.Base(cfg.Folder)); err != nil {
		return err
	}
	if err := os.MkdirAll(cfg.Folder, files.Private); err != nil {
		return err
	}
	return os.Chmod(cfg.Folder, folderMode(cfg.Accounts))
}

// folderMode returns that of the folders above those of executors: where they run as other users
// they pass it, and cannot list it.
func folderMode(a *accounts.Accounts) fs.FileMode {
	if a.Others() {
		return files.Passable
	}
	return files.Private
}

// folders removes the folders of executors and applications. Any disk may hang meanwhile: whoever holds the
// manager's lock does not wait for it.
type folders struct {
	root   string   // with a folder for each application, which has one for each executor
	locals []string // further roots, in local_dirs
	kept   *kept
	log    *slog.Logger
	work   sync.WaitGroup // removals
	rename func(from, to string) error

	mu      sync.Mutex // held by the one that renames, so that a disk that hangs holds one thread
	retired int
}

// retireApplication removes the folders of an application that is over, but for the outputs of its
// executors.
func (f *folders) retireApplication(id string) {
	f.retire(f.root, id)
	for _, root := range f.locals {
		f.retire(root, id)
	}
}

// asidePrefix begins the names of folders that are removed.
const asidePrefix = ".over-"

// retire removes a folder below a root. The application may be ordered again when it returns, so the folder
// is renamed first.
func (f *folders) retire(root string, elements ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.retired++
	folder, aside := filepath.Join(root, filepath.Join(elements...)), fmt.Sprintf(asidePrefix+"%d", f.retired)
	switch err := f.rename(folder, filepath.Join(root, aside)); {
	case err == nil:
		f.remove(root, aside)
	case !errors.Is(err, fs.ErrNotExist):
		f.failed(folder, err)
	}
}

// remove removes a folder below a root that is not made again.
func (f *folders) remove(root string, elements ...string) {
	f.work.Go(func() {
		if folder := filepath.Join(elements...); root == f.root && strings.HasPrefix(folder, asidePrefix) {
			f.kept.take(filepath.Join(root, folder))
			f.kept.trim(time.Now())
		}
		if err := files.RemoveAll(root, elements...); err != nil {
			f.failed(filepath.Join(root, filepath.Join(elements...)), err)
		}
	})
}

func (f *folders) failed(folder string, err error) {
	f.log.Warn("the folder of an executor could not be removed; remove it by hand", "folder", folder, "error", err)
}
