package clusters

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A file of a host is replaced whole or not at all, and a write that fails leaves nothing else.
func TestIntoPlace(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "manifest.json")
	write := func(before, text, arrives string) error {
		cmd := exec.Command("sh", "-c", before+"set -e; umask 022\n"+intoPlace(File{Path: file, data: []byte(text)}))
		cmd.Stdin = strings.NewReader(arrives)
		return cmd.Run()
	}
	is := func(want string) {
		t.Helper()
		got, err := os.ReadFile(file)
		if err != nil || string(got) != want {
			t.Errorf("the file is %.20q, %v", got, err)
		}
		if list, err := os.ReadDir(dir); err != nil || len(list) != 1 {
			t.Errorf("beside the file is %v, %v", list, err)
		}
	}
	if err := write("", "first", "first"); err != nil {
		t.Fatal(err)
	}
	is("first")
	large := strings.Repeat("x", 1<<20)
	if write("ulimit -f 1; trap '' XFSZ; ", large, large) == nil {
		t.Error("a file of 1 MiB was written below a limit of one block")
	}
	is("first")
	if write("", "second", "sec") == nil {
		t.Error("a part of a file was put in place")
	}
	is("first")
	if err := write("", "second", "second"); err != nil {
		t.Fatal(err)
	}
	is("second")
}
