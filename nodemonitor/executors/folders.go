package executors

import (
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"github.com/pigeon-sched/pigeon/internal/files"
	"github.com/pigeon-sched/pigeon/nodemonitor/accounts"
)

// renew removes the folder of applications, with what an earlier process has left in it, and makes
// it again.
func renew(cfg *Config) error {
	if err := os.RemoveAll(cfg.Folder); err != nil {
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

// folders removes the folders of executors and applications in the background.
type folders struct {
	root    string
	log     *slog.Logger
	work    sync.WaitGroup // removals
	retired int            // applications
}

// retire removes the folder of an application that is over. The application may be
// ordered again at once, so its folder is renamed first. It needs the lock.
func (f *folders) retire(folder string) {
	f.retired++
	aside := fmt.Sprintf(".over-%d", f.retired)
	if err := os.Rename(folder, filepath.Join(f.root, aside)); err == nil {
		f.remove(aside)
	}
}

// remove removes a folder below the root that is not made again.
func (f *folders) remove(elements ...string) {
	f.work.Go(func() {
		if err := files.RemoveAll(f.root, elements...); err != nil {
			f.log.Warn("the folder of an executor could not be removed; remove it by hand", "folder", filepath.Join(f.root, filepath.Join(elements...)), "error", err)
		}
	})
}
