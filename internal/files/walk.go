package files

import (
	"fmt"
	"io/fs"
	"os"
	"path"
)

// walkAtOnce is how many names of each folder on the way a walk holds.
const walkAtOnce = 128

// ErrTooDeep is the error of a walk that has left out folders because of their depth.
var ErrTooDeep = fmt.Errorf("its folders are nested more than %d deep", deepest)

// Walk calls visit with each name in a folder and in those below it, in the order in which the folder has them,
// with its path from there. It follows no link and leaves out what has gone meanwhile, or is locked
// by its owner. It descends from folder to folder, so that a path is not followed from its beginning
// at each name, and a name that is no UTF-8 is one like others. It holds few names at a time, however many
// there are. An error of visit ends it.
func Walk(in *os.Root, visit func(name string, info fs.FileInfo) error) error {
	deeper, err := walk(in, "", 0, visit)
	if err == nil && deeper {
		err = ErrTooDeep
	}
	return err
}

// walk walks a folder that lies so deep, and reports whether there are deeper ones than may be.
func walk(at *os.Root, above string, depth int, visit func(name string, info fs.FileInfo) error) (deeper bool, err error) {
	d, err := at.Open(".")
	if err != nil {
		return false, nil // gone meanwhile, or locked by its owner
	}
	defer func() { _ = d.Close() }() // only read
	for {
		names, end := d.Readdirnames(walkAtOnce)
		for _, name := range names {
			more, err := walkName(at, name, path.Join(above, name), depth, visit)
			deeper = deeper || more
			if err != nil {
				return deeper, err
			}
		}
		if end != nil {
			return deeper, nil // likewise, unless there are no more
		}
	}
}

// walkName visits a name in a folder that lies so deep, and what is below it.
func walkName(at *os.Root, name, full string, depth int, visit func(name string, info fs.FileInfo) error) (deeper bool, err error) {
	info, err := at.Lstat(name)
	if err != nil {
		return false, nil // gone meanwhile, or locked by its owner
	}
	if err := visit(full, info); err != nil || !info.IsDir() {
		return false, err
	}
	if depth == deepest {
		return true, nil
	}
	next, err := Into(at, name)
	if err != nil {
		return false, nil // likewise
	}
	defer func() { _ = next.Close() }() // only read
	return walk(next, full, depth+1, visit)
}
