package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// contents returns what a tar has: "mode owner size name" for each entry.
func contents(t *testing.T, r io.Reader) (lines []string) {
	t.Helper()
	for list := tar.NewReader(r); ; {
		h, err := list.Next()
		if errors.Is(err, io.EOF) {
			return lines
		}
		if err != nil {
			t.Fatal(err)
		}
		if !h.ModTime.Equal(testTime) {
			t.Errorf("%s has the time %v", h.Name, h.ModTime)
		}
		lines = append(lines, fmt.Sprintf("%04o %d:%d %s", h.Mode, h.Uid, h.Gid, h.Name))
	}
}

func TestTarIsSortedAndComplete(t *testing.T) {
	file := filepath.Join(t.TempDir(), "b")
	if err := os.WriteFile(file, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	entries := []entry{
		{name: "z/own", mode: 0o700, owner: 7, dir: true},
		{name: "a/b/c", mode: 0o644, text: []byte("c")},
		{name: "a/b.d", mode: 0o755, file: file},
	}
	var first, second bytes.Buffer
	if err := writeTar(&first, entries, testTime); err != nil {
		t.Fatal(err)
	}
	slices.Reverse(entries)
	if err := os.Chtimes(file, time.Now(), time.Now().Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	if err := writeTar(&second, entries, testTime); err != nil || !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Errorf("the same files in another order and with another time make other bytes, %v", err)
	}
	want := []string{"0755 0:0 a/", "0755 0:0 a/b/", "0755 0:0 a/b.d", "0644 0:0 a/b/c", "0755 0:0 z/", "0700 7:7 z/own/"}
	if got := contents(t, &first); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if err := writeTar(io.Discard, []entry{{name: "x", file: filepath.Join(t.TempDir(), "absent")}}, testTime); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("of an absent file: %v", err)
	}
}

// The archive of a platform has one folder; files for Linux only are not in others.
func TestArchive(t *testing.T) {
	darwin := platform{"darwin", "arm64"}
	r := staged(t, amd64, darwin)
	for _, p := range r.settings.Platforms {
		if err := r.writeArchive(p); err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(r.named(p, ".tar.gz"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = f.Close() })
		z, err := gzip.NewReader(f)
		if err != nil {
			t.Fatal(err)
		}
		list := contents(t, z)
		for _, want := range []string{"0755 0:0 pigeon-1.2.3-rc.1/pigeon", "0644 0:0 pigeon-1.2.3-rc.1/LICENSE", "0644 0:0 pigeon-1.2.3-rc.1/etc/pigeon/frontend.yaml"} {
			if !slices.Contains(list, want) {
				t.Errorf("%s lacks %q: %q", p, want, list)
			}
		}
		units := slices.ContainsFunc(list, func(line string) bool { return strings.HasSuffix(line, "systemd/pigeon-node.service") })
		if units != (p.os == "linux") {
			t.Errorf("%s has units: %v", p, units)
		}
	}
}

func TestChecksums(t *testing.T) {
	r := staged(t)
	for _, name := range []string{"b", "a"} {
		if err := os.WriteFile(filepath.Join(r.folder, name), []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.writeChecksums(); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(r.folder, checksumsFile))
	// sha256sum of "a" and of "b".
	want := "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb  a\n3e23e8160039594a33894f6564e1b1348bbd7a0088d42c4acb73eeaed59c009d  b\n"
	if err != nil || string(got) != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}
