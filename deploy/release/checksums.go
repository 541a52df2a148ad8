package main

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// checksumsFile has the checksums of all other files of a release, as sha256sum -c reads them.
const checksumsFile = "SHA256SUMS"

func (r *release) writeChecksums() error {
	made, err := os.ReadDir(r.folder) // sorted by name
	if err != nil {
		return err
	}
	return create(filepath.Join(r.folder, checksumsFile), func(w io.Writer) error {
		for _, d := range made {
			if d.Name() == checksumsFile {
				continue
			}
			sum, size, err := checksum(filepath.Join(r.folder, d.Name()))
			if err != nil {
				return err
			}
			r.sayf("%6.1f MB  %s", float64(size)/1e6, d.Name())
			if _, err := fmt.Fprintf(w, "%s  %s\n", sum, d.Name()); err != nil {
				return err
			}
		}
		return nil
	})
}

// checksum returns the SHA-256 of a file, in hexadecimal digits, and its size in bytes.
func checksum(name string) (sum string, size int64, err error) {
	f, err := os.Open(name)
	if err != nil {
		return "", 0, err
	}
	defer f.Close() //nolint:errcheck // nothing was written
	h := sha256.New()
	if size, err = io.Copy(h, f); err != nil {
		return "", 0, err
	}
	return fmt.Sprintf("%x", h.Sum(nil)), size, nil
}
