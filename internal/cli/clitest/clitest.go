// Package clitest has tests that the programs of Pigeon share, and writes the page of what their verbs print with
// -o json.
package clitest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/cli"
)

// InputsAreKept checks that commands refuse a trace that they read as a file that they would write, under
// any name. In them TRACE stands for the trace and LINK for a link to it; run runs the program.
func InputsAreKept(t *testing.T, run func(t *testing.T, args ...string) (code int, stdout, stderr string), commands ...string) {
	t.Helper()
	const text = "0 1 1 1\n"
	dir := t.TempDir()
	trace, link := filepath.Join(dir, "x.tr"), filepath.Join(dir, "link")
	for _, err := range []error{os.WriteFile(trace, []byte(text), 0o600), os.Symlink(trace, link)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, command := range commands {
		args := strings.Fields(strings.NewReplacer("TRACE", trace, "LINK", link).Replace(command))
		code, stdout, stderr := run(t, args...)
		if code != cli.ExitUsage || !strings.Contains(stderr, "which is read; nothing was written; name another file") {
			t.Errorf("%s: status %d, want %d\n%s%s", command, code, cli.ExitUsage, stdout, stderr)
		}
		if got, err := os.ReadFile(trace); err != nil || string(got) != text {
			t.Fatalf("%s: the trace holds %q, %v", command, got, err)
		}
	}
}
