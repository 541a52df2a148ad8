package files_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/files"
)

// TestWalk: links are not followed, and a name that is no UTF-8 is
// one like others, of a folder too.
func TestWalk(t *testing.T) {
	root := t.TempDir()
	err := errors.Join(os.MkdirAll(filepath.Join(root, "b", "caf\xe9"), 0o700), os.WriteFile(filepath.Join(root, "b", "caf\xe9", "menu"), []byte("12345"), 0o600),
		os.WriteFile(filepath.Join(root, "b.c"), []byte("123"), 0o600), os.Symlink("b", filepath.Join(root, "a")))
	in, opened := os.OpenRoot(root)
	if err = errors.Join(err, opened); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = in.Close() }()
	var names []string
	if err := files.Walk(in, func(name string, _ fs.FileInfo) error { names = append(names, name); return nil }); err != nil {
		t.Error(err)
	}
	slices.Sort(names)
	if want := []string{"a", "b", "b.c", "b/caf\xe9", "b/caf\xe9/menu"}; !slices.Equal(names, want) {
		t.Errorf("walked %q, want %q", names, want)
	}
	if n := files.Size(in, "b", "b.c", "none"); n != 8 {
		t.Errorf("they occupy %d bytes, not 8", n)
	}
}

// TestWalkOfNestedFolders: a walk ends at a depth, because what is behind each name would take longer
// the deeper it is, and says so.
func TestWalkOfNestedFolders(t *testing.T) {
	root := t.TempDir()
	nested(t, root, 1000)
	in, err := os.OpenRoot(root)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = in.Close() }()
	visited := 0
	if err := files.Walk(in, func(string, fs.FileInfo) error { visited++; return nil }); !errors.Is(err, files.ErrTooDeep) || visited > 300 {
		t.Errorf("visited %d: %v", visited, err)
	}
}

// A walk holds a few names of a folder, however many the folder has.
func TestWalkHoldsFewNames(t *testing.T) {
	root := t.TempDir()
	for i := range 5000 {
		if err := os.WriteFile(filepath.Join(root, fmt.Sprintf("%0200d", i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	in, err := os.OpenRoot(root)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = in.Close() }()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if err := files.Walk(in, func(string, fs.FileInfo) error { return fs.SkipAll }); !errors.Is(err, fs.SkipAll) {
		t.Error(err)
	}
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 500_000 {
		t.Errorf("%d bytes were allocated for the first of 5,000 names of 200 bytes", got)
	}
}
