package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/cli"
)

// TestInputsAreNotOverwritten: a trace or history that a command reads is refused as a file that it
// writes, under any name.
func TestInputsAreNotOverwritten(t *testing.T) {
	const text = "0 1 1 1\n"
	dir := t.TempDir()
	trace, link := filepath.Join(dir, "x.tr"), filepath.Join(dir, "link")
	for _, err := range []error{os.WriteFile(trace, []byte(text), 0o600), os.Symlink(trace, link)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, command := range []string{
		"replay --trace TRACE --history LINK", "watch TRACE --out LINK",
	} {
		args := strings.Fields(strings.NewReplacer("TRACE", trace, "LINK", link).Replace(command))
		code, stdout, stderr := pigeonBench(t, args...)
		if code != cli.ExitUsage || !strings.Contains(stderr, "which is read; nothing was written; name another file") {
			t.Errorf("%s: status %d, want %d\n%s%s", command, code, cli.ExitUsage, stdout, stderr)
		}
		if got, err := os.ReadFile(trace); err != nil || string(got) != text {
			t.Fatalf("%s: the trace holds %q, %v", command, got, err)
		}
	}
}
