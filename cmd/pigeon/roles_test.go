package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFileOfAnotherRole names the commands' settings for every verb of a shell, and starts a
// daemon there.
func TestFileOfAnotherRole(t *testing.T) {
	file := filepath.Join(t.TempDir(), "client.yaml")
	if err := os.WriteFile(file, []byte("frontend: [\"127.0.0.1:20503\"]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ variable, flag, want string }{
		{file, "", "it is one of client, and the file is named by PIGEON_CONFIG for every verb"},
		{"", file, "it is one of client. Name the right file"},
	} {
		t.Setenv(fileVariable, c.variable)
		args := []string{"master"}
		if c.flag != "" {
			args = append(args, "--config", c.flag)
		}
		if code, _, errs := program(t, args...); code != exitUsage || !strings.Contains(errs, c.want) {
			t.Errorf("status %d: %s", code, errs)
		}
	}
}
