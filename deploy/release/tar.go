package main

import (
	"archive/tar"
	"cmp"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// entry is a file or folder of an archive. Its owner is root, or of the number given.
type entry struct {
	name  string // with slashes, without a leading one
	mode  fs.FileMode
	owner int
	file  string // the path of its content, which may be in text instead; a folder has neither
	text  []byte
	dir   bool
}

// writeTar writes entries in the order of their names, each folder above them before, all with one
// time. The bytes depend on nothing else.
func writeTar(w io.Writer, entries []entry, at time.Time) error {
	entries = withFolders(entries)
	t := tar.NewWriter(w)
	for i := range entries {
		if err := entries[i].write(t, at); err != nil {
			return fmt.Errorf("%s: %w", entries[i].name, err)
		}
	}
	return t.Close()
}

// withFolders returns the entries and the folders above them, sorted.
func withFolders(entries []entry) []entry {
	known := map[string]bool{}
	for _, e := range entries {
		known[e.name] = true
	}
	all := slices.Clone(entries)
	for _, e := range entries {
		for folder := path.Dir(e.name); folder != "." && !known[folder]; folder = path.Dir(folder) {
			known[folder] = true
			all = append(all, entry{name: folder, mode: 0o755, dir: true})
		}
	}
	slices.SortFunc(all, func(a, b entry) int { return cmp.Compare(a.name, b.name) })
	return all
}

func (e *entry) write(t *tar.Writer, at time.Time) error {
	header := &tar.Header{
		Typeflag: tar.TypeReg, Name: e.name, Mode: int64(e.mode), Uid: e.owner, Gid: e.owner, ModTime: at,
		Size: int64(len(e.text)), Format: tar.FormatPAX,
	}
	if e.dir {
		header.Typeflag, header.Name = tar.TypeDir, e.name+"/"
		return t.WriteHeader(header)
	}
	if e.file == "" {
		if err := t.WriteHeader(header); err != nil {
			return err
		}
		_, err := t.Write(e.text)
		return err
	}
	f, err := os.Open(e.file)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // nothing was written
	info, err := f.Stat()
	if err != nil {
		return err
	}
	header.Size = info.Size()
	if err := t.WriteHeader(header); err != nil {
		return err
	}
	_, err = io.Copy(t, f)
	return err
}

// folderEntries returns the files of a folder and of those below it, with names below prefix and
// one mode.
func folderEntries(folder, prefix string, mode fs.FileMode) (entries []entry, err error) {
	err = filepath.WalkDir(folder, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name := path.Join(prefix, strings.TrimLeft(filepath.ToSlash(strings.TrimPrefix(file, folder)), "/"))
		entries = append(entries, entry{name: name, mode: mode, file: file})
		return nil
	})
	return entries, err
}
