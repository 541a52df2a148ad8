package executors

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
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
	aside := filepath.Join(f.root, fmt.Sprintf(".over-%d", f.retired))
	if err := os.Rename(folder, aside); err == nil {
		f.remove(aside)
	}
}

// remove removes a folder that is not made again.
func (f *folders) remove(folder string) {
	f.work.Go(func() {
		if err := os.RemoveAll(folder); err != nil {
			f.log.Warn("the folder of an executor could not be removed; remove it by hand", "folder", folder, "error", err)
		}
	})
}
