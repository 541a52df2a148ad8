package documents

import (
	"os"
	"path/filepath"
	"testing"
)

func TestRoot(t *testing.T) {
	root, err := Root()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(root, "internal", "documents", "checkout_test.go")); err != nil {
		t.Errorf("Root() = %s does not contain this file: %v", root, err)
	}
}

func TestNoRootOutsideTheModule(t *testing.T) {
	t.Chdir(t.TempDir())
	if root, err := Root(); err == nil {
		t.Errorf("Root() = %s in a folder without go.mod, want an error", root)
	}
}
