// Package checkout finds the sources of this module, for tests that need more of
// them than their own package.
package checkout

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Root returns the nearest folder with a go.mod at or above the working directory,
// which go test sets to the folder of the tested package. The path of a compiled
// file would not do: with -trimpath it names no folder.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		_, err := os.Stat(filepath.Join(dir, "go.mod"))
		if err == nil {
			return dir, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		above := filepath.Dir(dir)
		if above == dir {
			return "", errors.New("there is no go.mod in the working directory or above it")
		}
		dir = above
	}
}
