package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestWhatDaemonsKeepIsTheirs: no file and no folder of a cluster of processes lets others read or
// write, but the folders on the way to those of tasks, which can be passed.
func TestWhatDaemonsKeepIsTheirs(t *testing.T) {
	dir := t.TempDir()
	before := syscall.Umask(0o022)
	defer syscall.Umask(before)
	b, line := runDev(t, "--nodes", "1", "--groups", "1", "--data", filepath.Join(dir, "data"))
	succeed(t, "run", "--env", "PASSWORD=hunter2", "--", "sh", "-c", "echo out; echo err >&2; touch file")
	if code, errs := b.stop(); code != 0 {
		t.Fatal(errs)
	}
	seen := 0
	err := filepath.WalkDir(line.Data, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		seen++
		rel, _ := filepath.Rel(line.Data, path)
		mode := info.Mode().Perm()
		switch top, _, _ := strings.Cut(rel, "/"); {
		case mode&0o066 == 0 && (d.IsDir() || mode&0o011 == 0):
		case d.IsDir() && mode == 0o755 && (rel == "." || rel == "work" || rel == "journal"):
		case top == "journal" && !d.IsDir(): // in a folder that others cannot enter
		default:
			t.Errorf("%s has mode %o", rel, mode)
		}
		return nil
	})
	if err != nil || seen < 10 {
		t.Errorf("%d seen: %v", seen, err)
	}
}
