package executors_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/daemontest"
	"github.com/pigeon-sched/pigeon/nodemonitor/executors"
)

// A node monitor starts where an executor of an earlier one has left read-only folders.
func TestFoldersThatExecutorsLeave(t *testing.T) {
	w := newWorld(t)
	work := t.TempDir()
	var left []string
	for _, folder := range []string{"applications", "disk/pigeon.executors.n1"} {
		left = append(left, filepath.Join(work, folder, "app", "1", "unpacked"))
		if err := os.MkdirAll(filepath.Join(work, folder, "app", "1", "unpacked", "module"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	daemontest.AsUser(t, work, func() {
		for _, folder := range left {
			defer func() { _ = os.Chmod(folder, 0o700) }() // should it stay
			if err := os.Chmod(folder, 0o500); err != nil {
				t.Error(err)
			}
		}
		cfg := w.cfg
		cfg.Folder, cfg.LocalDirs = filepath.Join(work, "applications"), []string{filepath.Join(work, "disk")}
		m, err := executors.New(cfg)
		if err != nil {
			t.Error(err)
			return
		}
		m.Close()
	})
	for _, folder := range left {
		if _, err := os.Lstat(folder); err == nil {
			t.Errorf("%s stays", folder)
		}
	}
}
