package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/cli"
	"golang.org/x/sys/unix"
)

// A dev is not ready over a folder in which nothing can run, and doctor says the same of it.
func TestFoldersInWhichNothingRuns(t *testing.T) {
	for name, c := range map[string]struct {
		flags   uintptr
		options string
		want    string
	}{
		"noexec":            {unix.MS_NOEXEC, "size=400m", "is mounted noexec, and scripts"},
		"below its reserve": {0, "size=1m", "bytes are free on the disk of"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := unix.Mount("none", dir, "tmpfs", c.flags, c.options); err != nil {
				t.Skipf("nothing can be mounted here: %v", err)
			}
			t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
			code, out, errs := program(t, "dev", "--data", filepath.Join(dir, "data"))
			if code == cli.ExitDone || strings.Contains(out, "ready") || !strings.Contains(errs, c.want) || !strings.Contains(errs, "nothing was started") {
				t.Errorf("dev: status %d, %s%s", code, out, errs)
			}
			t.Setenv("TMPDIR", dir)
			if code, out, _ := program(t, "doctor"); code != cli.ExitFailed || !strings.Contains(out, "bad   folders: "+dir) || !strings.Contains(out, c.want) {
				t.Errorf("doctor: status %d\n%s", code, out)
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
				t.Errorf("it leaves %v behind, %v", left, err)
			}
		})
	}
}
