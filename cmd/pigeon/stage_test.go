package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/cli"
)

// inputs makes a folder of files: in/a, in/b/c, in/link (a link), tool (executable), pair=of.
func inputs(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, mode := range map[string]os.FileMode{"in/b/c": 0o600, "in/a": 0o644, "tool": 0o700, "pair=of": 0o600} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(name), mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("a", filepath.Join(dir, "in/link")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// What is larger than the frontend takes is refused at once. Hashing it would take an hour.
func TestStageOfAHugeFile(t *testing.T) {
	runDev(t)
	huge := write(t, "huge", "")
	if err := os.Truncate(huge, 1<<40); err != nil {
		t.Fatal(err)
	}
	for _, verb := range []string{"run", "submit"} {
		if code, _, errs := pigeon(t, verb, "--stage", huge, "--", "true"); code != cli.ExitUsage || !strings.Contains(errs, "more than the limit of 67108864 a job (stage_job_bytes)") {
			t.Errorf("%s: exit status %d, %s", verb, code, errs)
		}
	}
}

// Tasks find the files that were sent, and --collect leaves out those that are as they were.
func TestStagedFilesOfAJob(t *testing.T) {
	runDev(t)
	dir := inputs(t)
	to := t.TempDir()
	id := succeed(t, "submit", "--wait", "--tasks", "2", "--collect", to, "--stage", dir+"/in", "--stage", dir+"/tool", "--", "sh", "-c", "test -x tool && cat in/b/c && echo $PIGEON_TASK >> in/a")
	for _, task := range []string{"0", "1"} {
		if got := succeed(t, "logs", id, "--task", task); got != "in/b/c" {
			t.Errorf("task %s read %q", task, got)
		}
		holds(t, "in/a"+task+"\n", to, task, "in", "a")
		for _, name := range []string{"tool", "in/b"} {
			if _, err := os.Lstat(filepath.Join(to, task, name)); err == nil {
				t.Errorf("task %s: %s was copied", task, name)
			}
		}
	}
	if list, err := os.ReadDir(to); err != nil || len(list) != 2 {
		t.Errorf("%v, %v", list, err)
	}
	out := succeed(t, "run", "--stage", dir+"/tool=t", "--", "cat", "t")
	if out != "tool" {
		t.Errorf("%q", out)
	}
}
