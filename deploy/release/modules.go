package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// goModule is a module whose packages are in the program.
type goModule struct {
	Path, Version, Dir, Sum string
}

func (m goModule) String() string { return m.Path + "@" + m.Version }

// standardLibrary is the module of Go itself.
const standardLibrary = "std"

// modules returns the modules whose packages are in the program of a platform, sorted, with their
// folders in the module cache; Go itself is the first.
func modules(ctx context.Context, source string, p platform) ([]goModule, error) {
	environ := append(goEnviron(), "GOOS="+p.os, "GOARCH="+p.arch)
	where, err := output(ctx, source, environ, "go", "env", "GOROOT", "GOVERSION")
	if err != nil {
		return nil, err
	}
	root, version, _ := strings.Cut(strings.TrimSpace(string(where)), "\n")
	list := []goModule{{Path: standardLibrary, Version: strings.TrimPrefix(version, "go"), Dir: root}}
	text, err := output(ctx, source, environ, "go", "list", "-deps", "-json=Module", "./cmd/pigeon")
	if err != nil {
		return nil, err
	}
	found := map[string]goModule{}
	for decoder := json.NewDecoder(bytes.NewReader(text)); ; {
		var one struct {
			Module *struct {
				goModule
				Main bool
			}
		}
		if err := decoder.Decode(&one); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		if one.Module != nil && !one.Module.Main {
			found[one.Module.Path] = one.Module.goModule
		}
	}
	sums, err := readSums(source)
	if err != nil {
		return nil, err
	}
	for _, m := range found {
		m.Sum = sums[m.String()]
		list = append(list, m)
	}
	slices.SortFunc(list[1:], func(a, b goModule) int { return cmp.Compare(a.Path, b.Path) })
	return list, nil
}

// readSums returns the hash of the content of each module@version in go.sum.
func readSums(source string) (map[string]string, error) {
	text, err := os.ReadFile(filepath.Join(source, "go.sum"))
	if err != nil {
		return nil, err
	}
	sums := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if parts := strings.Fields(line); len(parts) == 3 && !strings.HasSuffix(parts[1], "/go.mod") {
			sums[parts[0]+"@"+parts[1]] = parts[2]
		}
	}
	return sums, nil
}
