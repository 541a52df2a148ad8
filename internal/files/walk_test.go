package files_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/files"
)

// TestWalk: the order is that of the names, links are not followed, and a name that is no UTF-8 is
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
	if want := []string{"a", "b", "b/caf\xe9", "b/caf\xe9/menu", "b.c"}; !slices.Equal(names, want) {
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
