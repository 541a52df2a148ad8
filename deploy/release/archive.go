package main

import (
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path"
	"path/filepath"
)

// writeArchive writes the archive of a platform: one folder with the program, its licences, manual
// pages, completions, settings, the Ansible role, and on Linux the files of the service manager.
func (r *release) writeArchive(p platform) error {
	all, top := platform{}, "pigeon-"+r.version
	entries := []entry{
		{name: path.Join(top, "pigeon"), mode: 0o755, file: r.staged(p, "pigeon")},
		{name: path.Join(top, "pigeon.cdx.json"), mode: 0o644, file: r.staged(p, "pigeon.cdx.json")},
		{name: path.Join(top, "THIRD-PARTY-LICENSES"), mode: 0o644, file: r.staged(p, "THIRD-PARTY-LICENSES")},
		{name: path.Join(top, "LICENSE"), mode: 0o644, file: filepath.Join(r.source, "LICENSE")},
		{name: path.Join(top, "README.md"), mode: 0o644, file: filepath.Join(r.source, "README.md")},
	}
	folders := map[string]string{
		"completions": r.staged(all, "completions"),
		"etc/pigeon":  r.staged(all, "etc"),
		"ansible":     filepath.Join(r.source, "deploy", "ansible"),
	}
	if p.os == "linux" {
		for _, name := range []string{"systemd", "sysusers.d", "tmpfiles.d"} {
			folders[name] = filepath.Join(r.source, "packaging", name)
		}
	}
	for name, folder := range folders {
		more, err := folderEntries(folder, path.Join(top, name), 0o644)
		if err != nil {
			return err
		}
		entries = append(entries, more...)
	}
	return create(r.named(p, ".tar.gz"), func(w io.Writer) error {
		z, err := gzip.NewWriterLevel(w, gzip.BestCompression)
		if err != nil {
			return err
		}
		return errors.Join(writeTar(z, entries, r.time), z.Close())
	})
}

// create writes a file that all users may read.
func create(name string, write func(io.Writer) error) (err error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}
