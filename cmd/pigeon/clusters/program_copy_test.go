package clusters

import (
	"os"
	"path/filepath"
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
