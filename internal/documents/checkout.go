package documents

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// first is the first line of the go.mod at the root; the modules below it have others.
const first = "module github.com/pigeon-sched/pigeon\n"

// Root returns the folder of the product's go.mod, which is at or above the working directory.
// go test sets that to the folder of the tested package. The path of a compiled
// file would not do: with -trimpath it names no folder.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && strings.HasPrefix(string(text), first) {
			return dir, nil
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		above := filepath.Dir(dir)
		if above == dir {
			return "", errors.New("there is no go.mod of Pigeon in the working directory or above it")
		}
		dir = above
	}
}
