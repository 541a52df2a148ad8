package executors

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"github.com/pigeon-sched/pigeon/internal/files"
)

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
