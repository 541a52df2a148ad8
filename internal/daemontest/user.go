package daemontest

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/peercred/peercredtest"
)

// AsUser calls do as a user who is not root: on a thread of its own where this process is. All that is
// in the folder is given to that user then, and the folders above it become passable.
func AsUser(t testing.TB, folder string, do func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		do()
		return
	}
	for above := filepath.Dir(folder); above != filepath.Clean(os.TempDir()) && above != "/"; above = filepath.Dir(above) {
		if err := os.Chmod(above, 0o711); err != nil { //nolint:gosec // of a test
			t.Fatal(err)
		}
	}
	err := filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
		if err == nil {
			err = os.Lchown(path, peercredtest.Nobody, peercredtest.Nobody)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	peercredtest.As(t, peercredtest.Nobody, do)
}
