// Package tracetest finds the published trace files for tests.
//
// They are data of others and not part of this repository. Tests that need
// them call Path: the folder is PIGEON_TRACES (relative to the repository's
// root when it is not absolute), by default ../shared/traces. A file that is
// missing skips the test with a message; with CI=true it fails the test, so
// that a check cannot vanish unseen.
package tracetest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/documents"
)

// Path returns the path of a trace file such as "ngo_90.tr".
func Path(t testing.TB, name string) string {
	t.Helper()
	root, err := documents.Root()
	if err != nil {
		t.Fatalf("cannot look for trace %s: %v", name, err)
	}
	path := filepath.Join(folder(root, os.Getenv("PIGEON_TRACES")), name)
	if _, err := os.Stat(path); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("trace %s is missing (%v): with CI=true that is a failure; set PIGEON_TRACES to the folder of the trace files", name, err)
		}
		t.Skipf("skipped: trace %s is missing (%v); set PIGEON_TRACES to the folder of the trace files", name, err)
	}
	return path
}

func folder(root, configured string) string {
	switch {
	case configured == "":
		return filepath.Join(root, "..", "shared", "traces")
	case filepath.IsAbs(configured):
		return configured
	}
	return filepath.Join(root, configured)
}
