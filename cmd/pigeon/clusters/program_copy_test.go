package clusters

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// Of a program that does not arrive whole, as when the disk of the host is full, nothing stays: the
// daemons there need the room.
func TestPartOfProgramIsRemoved(t *testing.T) {
	sshOf(t, runHere)
	root := t.TempDir()
	p, err := Make(parse(t, "security: insecure\nservice_manager: none\nhosts:\n  - {name: m, address: 127.0.0.1, prefix: "+root+", roles: [master, frontend, node], slots: 1}\n"), t.TempDir(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	part := filepath.Join(t.TempDir(), "part")
	if err := os.WriteFile(part, []byte("the first bytes"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Open(p, Options{Program: Program{Path: part, SHA256: strings.Repeat("a", 64)}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() }) // it removes a folder for temporary files
	if err := c.Apply(t.Context()); err == nil || !strings.Contains(err.Error(), "did not arrive whole") {
		t.Errorf("the error is %v", err)
	}
	left, err := os.ReadDir(pathsOf(p.Hosts[0].Host).bin())
	if err != nil || len(left) > 0 {
		t.Errorf("left are %v, %v", left, err)
	}
}

// Two commands that do the same to a host have no temporary name in common: one of them would find its
// own file put in place, or replaced, by the other, and fail.
func TestTemporaryNamesAreOfOneCommand(t *testing.T) {
	sshOf(t, runHere)
	root, folder := t.TempDir(), t.TempDir()
	p, err := Make(parse(t, "security: insecure\nservice_manager: none\nhosts:\n  - {name: m, address: 127.0.0.1, prefix: "+root+", roles: [master, frontend, node], slots: 1}\n"), t.TempDir(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	mv, err := exec.LookPath("mv")
	if err != nil {
		t.Fatal(err)
	}
	moved, program := filepath.Join(folder, "moved"), filepath.Join(folder, "program")
	for file, text := range map[string]string{filepath.Join(folder, "mv"): "#!/bin/sh\necho \"$2\" >>" + moved + "\nexec " + mv + " \"$@\"\n", program: ""} {
		if err := os.WriteFile(file, []byte(text), 0o700); err != nil { //nolint:gosec // programs
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", folder+":"+os.Getenv("PATH"))
	c, err := Open(p, Options{Program: Program{Path: program, SHA256: fmt.Sprintf("%x", sha256.Sum256(nil))}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() }) // it removes a folder for temporary files
	for range 2 {
		w := &work{HostPlan: p.Hosts[0], difference: &difference{}}
		if err := errors.Join(c.mark(t.Context(), w), c.copyProgram(t.Context(), w), c.finish(t.Context(), w)); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(moved)
	if err != nil {
		t.Fatal(err)
	}
	names := strings.Fields(string(text))
	const want = 2*3 + 1 // the second command finds the program there
	if slices.Sort(names); len(names) != want || len(slices.Compact(slices.Clone(names))) != want {
		t.Errorf("temporary names are %q", names)
	}
}
