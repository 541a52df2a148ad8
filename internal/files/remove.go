package files

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
)

// deepest is how many folders a walk or a removal descends from the one where it begins. Each of
// them is open meanwhile, and a task can nest folders without an end.
const deepest = 256

// namesAtOnce is how many names of a folder are read at once.
const namesAtOnce = 1024

// RemoveAll removes what the names lead to below a trusted folder, as RemoveIn does.
func RemoveAll(root string, names ...string) error {
	last := len(names) - 1
	in, err := Below(root, names[:last]...)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(RemoveIn(in, names[last]), in.Close())
}

// RemoveIn removes what has a name in a folder, and all that is in it, however deep. Folders of this
// process's own user that are closed or read-only, as some programs leave those that they have
// unpacked, are opened for that. It follows no link. A missing name is no error.
func RemoveIn(in *os.Root, name string) error {
	r := removal{name: name}
	return r.remove(in, name, ".", 0)
}

// removal is the removal of a folder with all that is in it.
type removal struct {
	name string
	top  *os.Root // the folder
}

// remove removes what has a name in a folder. below is its path from the folder with which the
// removal began, which lies so many folders above it.
func (r *removal) remove(at *os.Root, name, below string, depth int) error {
	err := at.Remove(name)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	info, gone := at.Lstat(name)
	switch {
	case errors.Is(gone, fs.ErrNotExist):
		return nil
	case gone != nil || !info.IsDir():
		return r.failed(below, err)
	}
	if info.Mode().Perm()&Private != Private && Owner(info) == os.Geteuid() {
		if err := at.Chmod(name, Private); err != nil {
			return r.failed(below, err)
		}
	}
	if depth == deepest {
		return r.moveUp(below)
	}
	folder, err := Into(at, name)
	if err != nil {
		return r.failed(below, err)
	}
	if depth == 0 {
		r.top = folder
	}
	left := r.empty(folder, below, depth)
	_ = folder.Close() // nothing was written
	if err := at.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		if left == nil {
			left = r.failed(below, err)
		}
		return left
	}
	return nil
}

// empty removes what is in a folder, and returns the first error. It reads the folder until nothing
// more can be removed: a removal may change the order in which the rest is read, and what was moved
// up is in the first folder.
func (r *removal) empty(folder *os.Root, below string, depth int) error {
	for {
		var first error
		removed, err := r.pass(folder, func(name string) error {
			err := r.remove(folder, name, path.Join(below, name), depth+1)
			if first == nil {
				first = err
			}
			return err
		})
		if err != nil {
			return r.failed(below, err)
		}
		if removed == 0 {
			return first
		}
	}
}

// pass calls remove with each name in a folder, and returns how many of them were removed.
func (r *removal) pass(folder *os.Root, remove func(name string) error) (removed int, err error) {
	d, err := folder.Open(".")
	if err != nil {
		return 0, err
	}
	defer func() { _ = d.Close() }() // only read
	for {
		names, err := d.Readdirnames(namesAtOnce)
		for _, name := range names {
			if remove(name) == nil {
				removed++
			}
		}
		if errors.Is(err, io.EOF) {
			return removed, nil
		}
		if err != nil {
			return removed, err
		}
	}
}

// moveUp moves a folder that lies too deep into the first one, which is removed last.
func (r *removal) moveUp(below string) error {
	err := r.top.Rename(below, fmt.Sprintf(".%016x", rand.Uint64())) //nolint:gosec // no secret
	if err != nil {
		return r.failed(below, err)
	}
	return nil
}

// failed returns the error of what lies at a path, without the name that was tried.
func (r *removal) failed(below string, err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err
	}
	return &fs.PathError{Op: "remove", Path: path.Join(r.name, below), Err: err}
}
