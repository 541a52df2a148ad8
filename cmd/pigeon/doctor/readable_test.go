package doctor

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// Whether a user can read a file is tried as that user: a closed folder hides an open file.
func TestReadableFor(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can try it as another user")
	}
	folder, err := os.MkdirTemp("/tmp", "readable") //nolint:usetesting // every user can pass through the folders above it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	file := filepath.Join(folder, "key.pem")
	for _, c := range []struct {
		folder, file os.FileMode
		want         bool
	}{{0o755, 0o644, true}, {0o755, 0o600, false}, {0o700, 0o644, false}} {
		if err := errors.Join(os.WriteFile(file, nil, 0o600), os.Chmod(file, c.file), os.Chmod(folder, c.folder)); err != nil {
			t.Fatal(err)
		}
		if got := readableFor("nobody", file); got != c.want {
			t.Errorf("in a folder of mode %o a file of mode %o is readable: %v, want %v", c.folder, c.file, got, c.want)
		}
	}
	if readableFor("no such user", "/etc/passwd") {
		t.Error("a user that there is not can read a file")
	}
}
