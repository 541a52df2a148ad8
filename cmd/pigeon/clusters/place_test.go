package clusters

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/hosts"
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

// A file that replaces one of the same size has another time: daemons read a renewed certificate again when
// its size or time is another.
func TestReplacedFileHasAnotherTime(t *testing.T) {
	sshOf(t, runHere)
	root := t.TempDir()
	p, err := Make(parse(t, "security: insecure\nservice_manager: none\nhosts:\n  - {name: m, address: 127.0.0.1, prefix: "+root+", roles: [master, frontend, node], slots: 1}\n"), t.TempDir(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	c, err := Open(p, Options{Program: Program{Path: filepath.Join(root, "none"), SHA256: strings.Repeat("a", 64)}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() }) // it removes a folder for temporary files
	at := pathsOf(p.Hosts[0].Host).certificate(hosts.Master)
	write := func(text string) time.Time {
		t.Helper()
		file := File{Path: at, Mode: publicMode, data: []byte(text)}
		if err := c.write(t.Context(), &work{HostPlan: p.Hosts[0], difference: &difference{files: []File{file}}}); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(at); err != nil || string(got) != text {
			t.Fatalf("the file is %q, %v", got, err)
		}
		info, err := os.Stat(at)
		if err != nil {
			t.Fatal(err)
		}
		return info.ModTime()
	}
	if first, second := write("the first one"), write("the other one"); !second.After(first) {
		t.Errorf("the file is of %v, and was of %v", second, first)
	}
}
