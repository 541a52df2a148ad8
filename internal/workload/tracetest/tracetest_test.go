package tracetest

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// outcome records what Path does to its test.
type outcome struct {
	testing.TB
	skipped, failed string
}

func (o *outcome) Helper() {}
func (o *outcome) Skipf(format string, args ...any) {
	o.skipped = fmt.Sprintf(format, args...)
}
func (o *outcome) Fatalf(format string, args ...any) {
	o.failed = fmt.Sprintf(format, args...)
}

func TestPath(t *testing.T) {
	traces := t.TempDir()
	if err := os.WriteFile(filepath.Join(traces, "here.tr"), []byte("0 1 1 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PIGEON_TRACES", traces)
	tests := []struct {
		name, file, ci  string
		skipped, failed bool
	}{
		{"present", "here.tr", "true", false, false},
		{"absent on a user's machine", "gone.tr", "", true, false},
		{"absent in CI", "gone.tr", "true", false, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("CI", tt.ci)
			var o outcome
			path := Path(&o, tt.file)
			if o.failed != "" != tt.failed || (o.skipped != "" && o.failed == "") != tt.skipped {
				t.Errorf("Path(%s): skipped %q, failed %q", tt.file, o.skipped, o.failed)
			}
			if want := filepath.Join(traces, tt.file); path != want {
				t.Errorf("Path(%s) = %s, want %s", tt.file, path, want)
			}
		})
	}
}

func TestFolder(t *testing.T) {
	for configured, want := range map[string]string{
		"": "/shared/traces", "/data": "/data", "data/traces": "/pigeon/data/traces",
	} {
		if got := folder("/pigeon", configured); got != want {
			t.Errorf("folder(%q) = %s, want %s", configured, got, want)
		}
	}
}
