package files

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
)

// ErrTooDeep is the error of a walk that has left out folders because of their depth.
var ErrTooDeep = fmt.Errorf("its folders are nested more than %d deep", deepest)

// Walk calls visit with each name in a folder and in those below it, in the order of the names,
// with its path from there. It follows no link and leaves out what has gone meanwhile, or is locked
// by its owner. It descends from folder to folder, so that a path is not followed from its beginning
// at each name, and a name that is no UTF-8 is one like others. An error of visit ends it.
func Walk(in *os.Root, visit func(name string, info fs.FileInfo) error) error {
	deeper, err := walk(in, "", 0, visit)
	if err == nil && deeper {
		err = ErrTooDeep
	}
	return err
}

// walk walks a folder that lies so deep, and reports whether there are deeper ones than may be.
func walk(at *os.Root, above string, depth int, visit func(name string, info fs.FileInfo) error) (deeper bool, err error) {
	list, err := namesIn(at)
	if err != nil {
		return false, nil //nolint:nilerr // gone meanwhile, or locked by its owner
	}
	for _, name := range list {
		info, err := at.Lstat(name)
		if err != nil {
			continue // likewise
		}
		full := path.Join(above, name)
		if err := visit(full, info); err != nil {
			return deeper, err
		}
		if !info.IsDir() {
			continue
		}
		if depth == deepest {
			deeper = true
			continue
		}
		next, err := Into(at, name)
		if err != nil {
			continue // likewise
		}
		more, err := walk(next, full, depth+1, visit)
		_ = next.Close() // only read
		deeper = deeper || more
		if err != nil {
			return deeper, err
		}
	}
	return deeper, nil
}

// namesIn returns the names in a folder, sorted.
func namesIn(at *os.Root) ([]string, error) {
	d, err := at.Open(".")
	if err != nil {
		return nil, err
	}
	defer func() { _ = d.Close() }() // only read
	names, err := d.Readdirnames(-1)
	slices.SortFunc(names, strings.Compare)
	return names, err
}
