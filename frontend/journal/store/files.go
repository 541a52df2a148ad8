package store

import (
	"errors"
	"io"
	"os"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// FS is where the files of a journal are: those of the store, and those next to it.
type FS = vfs.FS

// File is an open file of an [FS].
type File = vfs.File

// HostFS is the disk of this host.
func HostFS() FS { return vfs.Default }

// MakeFolder makes a folder, which only this user may enter, and those above it, and makes their
// names durable: when a power failure removes a folder, everything that was synced in it is lost.
func MakeFolder(fs FS, dir string) error {
	var missing []string // the folders in which a name is made
	for at := dir; fs.PathDir(at) != at; at = fs.PathDir(at) {
		_, err := fs.Stat(at)
		if err == nil {
			break
		}
		if !errors.Is(err, os.ErrNotExist) {
			return err
		}
		missing = append(missing, fs.PathDir(at))
	}
	err := fs.MkdirAll(fs.PathDir(dir), 0o755)
	if err == nil {
		err = fs.MkdirAll(dir, 0o700)
	}
	for _, parent := range missing {
		if err == nil {
			err = SyncFolder(fs, parent)
		}
	}
	return err
}

// SyncFolder makes the names in a folder durable.
func SyncFolder(fs FS, dir string) error {
	d, err := fs.OpenDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// ReadFile returns what a file holds.
func ReadFile(fs FS, path string) ([]byte, error) {
	f, err := fs.Open(path)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(f)
	return data, errors.Join(err, f.Close())
}

// OpenFile opens a file to be read and overwritten, and makes it if need be.
func OpenFile(fs FS, path string) (File, error) {
	return fs.OpenReadWrite(path, vfs.WriteCategoryUnspecified)
}

// WriteFile makes a file, in place of an older one. It is durable on return, and its name
// is when the folder is synced.
func WriteFile(fs FS, path, text string) error {
	f, err := fs.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = f.Write([]byte(text))
	return errors.Join(err, f.Sync(), f.Close())
}
