package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/cli"
)

// A file of the commands' settings that is named for every verb of a shell does not keep a daemon
// from its own settings; one that is named for the daemon is read, and refused.
func TestFileOfAnotherRole(t *testing.T) {
	file := filepath.Join(t.TempDir(), "client.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("frontend: [\"127.0.0.1:20503\"]\n")
	if code, _, errs := program(t, "master", "--config", file); code != cli.ExitUsage || !strings.Contains(errs, "it is one of client. Name the right file") {
		t.Errorf("status %d: %s", code, errs)
	}
	t.Setenv("PIGEON_CONFIG", file)
	notice := "this daemon does not read it"
	code, _, errs := program(t, "master", "--group", "-1")
	if code == cli.ExitDone || strings.Count(errs, notice) != 1 || !strings.Contains(errs, file) || strings.Contains(errs, "unknown key") || !strings.Contains(errs, "group") {
		t.Errorf("status %d: %s", code, errs)
	}
	for text, want := range map[string]string{
		"frontend: [\"127.0.0.1:20503\"]\nreserved: 0.1\n": `unknown key "frontend"`, // no file of the commands
		"frontend: [\n": "not YAML",
	} {
		write(text)
		if code, _, errs := program(t, "master", "--group", "-1"); code != cli.ExitUsage || strings.Contains(errs, notice) || !strings.Contains(errs, want) {
			t.Errorf("%q: status %d: %s", text, code, errs)
		}
	}
}
