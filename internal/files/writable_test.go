package files_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/files"
)

func TestWritable(t *testing.T) {
	dir := t.TempDir()
	if err := files.Writable(dir); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("the check leaves %v, %v", left, err)
	}
	for _, folder := range []string{filepath.Join(dir, "absent"), "/proc/self"} {
		if files.Writable(folder) == nil {
			t.Errorf("a file can be made in %s", folder)
		}
	}
}
