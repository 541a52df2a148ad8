package files_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/daemontest"
	"github.com/pigeon-sched/pigeon/internal/files"
)

// nested makes that many folders, each in the one before.
func nested(t *testing.T, folder string, depth int) {
	t.Helper()
	at, err := syscall.Open(folder, syscall.O_DIRECTORY|syscall.O_CLOEXEC, 0)
	for i := 0; i < depth && err == nil; i++ {
		var next int
		if err = syscall.Mkdirat(at, "d", 0o700); err == nil {
			next, err = syscall.Openat(at, "d", syscall.O_DIRECTORY|syscall.O_CLOEXEC, 0)
			_ = syscall.Close(at)
			at = next
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	_ = syscall.Close(at)
}

// TestRemoveWhatIsReadOnly: a folder in which its user may not write, or which that user may not
// enter, is removed with what is in it: some programs leave such ones.
func TestRemoveWhatIsReadOnly(t *testing.T) {
	root := t.TempDir()
	top := filepath.Join(root, "of", "task")
	for _, name := range []string{"read-only/module", "closed/module", "."} {
		folder := filepath.Join(top, name)
		if err := errors.Join(os.MkdirAll(folder, 0o700), os.WriteFile(filepath.Join(folder, "file"), nil, 0o400)); err != nil {
			t.Fatal(err)
		}
	}
	daemontest.AsUser(t, root, func() {
		for _, name := range []string{"read-only/module", "read-only", "closed/module", "closed", "."} {
			mode := fs.FileMode(0o500)
			if name == "closed" {
				mode = 0
			}
			defer func() { _ = os.Chmod(filepath.Join(top, name), 0o700) }() // should it stay
			if err := os.Chmod(filepath.Join(top, name), mode); err != nil {
				t.Error(err)
			}
		}
		if err := files.RemoveAll(root, "of", "task"); err != nil {
			t.Error(err)
		}
	})
	if _, err := os.Lstat(top); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it stays: %v", err)
	}
}

// TestRemoveNestedFolders: a removal has few folders open at once, however deep they are.
func TestRemoveNestedFolders(t *testing.T) {
	root := t.TempDir()
	nested(t, root, 3000)
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	few := syscall.Rlimit{Cur: 1000, Max: before.Max}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &few); err != nil {
		t.Fatal(err)
	}
	err := files.RemoveAll(root, "d")
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	if _, left := os.Lstat(filepath.Join(root, "d")); err != nil || !errors.Is(left, fs.ErrNotExist) {
		t.Errorf("it stays: %v, %.200v", left, err)
	}
}

// TestRemoveNoLink: what a link leads to stays, and a name that is missing is removed already.
func TestRemoveNoLink(t *testing.T) {
	root, elsewhere := t.TempDir(), t.TempDir()
	precious := filepath.Join(elsewhere, "precious")
	if err := errors.Join(os.WriteFile(precious, nil, 0o600), os.Mkdir(filepath.Join(root, "d"), 0o700), os.Symlink(elsewhere, filepath.Join(root, "d", "link"))); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(files.RemoveAll(root, "d"), files.RemoveAll(root, "d"), files.RemoveAll(root, "none", "d")); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(precious); err != nil {
		t.Error(err)
	}
}

// TestRemoveManyFiles: more than are read at once.
func TestRemoveManyFiles(t *testing.T) {
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "d"), 0o700); err != nil {
		t.Fatal(err)
	}
	for range 3000 {
		f, err := os.CreateTemp(filepath.Join(root, "d"), "")
		if err != nil || f.Close() != nil {
			t.Fatal(err)
		}
	}
	err := files.RemoveAll(root, "d")
	if _, left := os.Lstat(filepath.Join(root, "d")); err != nil || !errors.Is(left, fs.ErrNotExist) {
		t.Errorf("it stays: %v, %v", left, err)
	}
}
