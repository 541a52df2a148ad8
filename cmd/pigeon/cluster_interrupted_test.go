package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/cli"
)

// stopWriter presses Ctrl-C when a daemon is about to be stopped.
type stopWriter struct {
	bytes.Buffer
	interrupt func()
}

// Write implements io.Writer.
func (w *stopWriter) Write(p []byte) (int, error) {
	if strings.Contains(string(p), "stopping its nodemonitor") {
		w.interrupt()
	}
	return w.Buffer.Write(p)
}

// Ctrl-C ends the verbs that work on hosts as it ends others.
func TestClusterInterrupted(t *testing.T) {
	folder := t.TempDir()
	file := func(name, text string) string {
		t.Helper()
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil { //nolint:gosec // one is a program
			t.Fatal(err)
		}
		return path
	}
	file("ssh", `#!/bin/sh
for a in "$@"; do [ "$a" = exit ] && exit 0; done
printf 'system Linux x86_64\nprogram pigeon-1\nmanifest\n{"cluster": "c", "host": "m", "service_manager": "none"}\n'
`)
	t.Setenv("PATH", folder+":"+os.Getenv("PATH"))
	inventory := file("inventory.yaml", "cluster: c\nsecurity: insecure\nservice_manager: none\nhosts:\n  - {name: m, address: 10.0.0.1, ssh: m, roles: [master, frontend, node], slots: 1}\n")
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	var out bytes.Buffer
	errs := &stopWriter{interrupt: interrupt}
	code := run(ctx, []string{"cluster", "remove", "--yes", inventory}, strings.NewReader(""), &out, errs)
	if code != cli.ExitInterrupted || !strings.HasSuffix(errs.String(), "interrupted; what is done stays done, and the same command goes on from there\n") || !strings.Contains(out.String(), "1 failed") {
		t.Errorf("status %d: %s%s", code, out.String(), errs.String())
	}
}
