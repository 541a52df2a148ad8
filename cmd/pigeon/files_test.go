package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/pigeon-sched/pigeon/client"
	"github.com/pigeon-sched/pigeon/cmd/pigeon/jobs"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/cli"
)

// holds fails the test unless a file holds a text.
func holds(t *testing.T, text string, path ...string) {
	t.Helper()
	if got, err := os.ReadFile(filepath.Join(path...)); err != nil || string(got) != text {
		t.Errorf("%s holds %.100q, want %.100q; %v", filepath.Join(path...), got, text, err)
	}
}

// A copy has holes where the file may have them, also at its end, and the bytes between them.
func TestFilesWithHoles(t *testing.T) {
	runDev(t)
	to := t.TempDir()
	succeed(t, "run", "--collect", to, "--", "sh", "-c", "truncate -s 40000000 f; printf middle >> f; truncate -s 80000000 f; printf end >> f; cp --sparse=always f g; truncate -s 90000000 g")
	want := make([]byte, 90_000_000)
	copy(want[40_000_000:], "middle")
	copy(want[80_000_000:], "end")
	for name, size := range map[string]int{"f": 80_000_003, "g": 90_000_000} {
		path := filepath.Join(to, name)
		if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want[:size]) {
			t.Errorf("%s: %d bytes, or others than those of the task: %v", name, len(got), err)
		}
		var info syscall.Stat_t
		if err := syscall.Stat(path, &info); err != nil || info.Blocks*512 > 1<<20 {
			t.Errorf("%s occupies %d bytes (%v)", name, info.Blocks*512, err)
		}
	}
}

// What tasks leave in their working folders is listed and copied, at the end or later.
func TestFiles(t *testing.T) {
	runDev(t)
	const script = `mkdir out; echo $PIGEON_TASK > out/a.csv; echo program > run; chmod 700 run; ln -s /etc/passwd link`
	at := filepath.Join(t.TempDir(), "new", "results")
	id := succeed(t, "submit", "--wait", "--tasks", "2", "--collect", at, "--", "sh", "-c", script)
	for _, task := range []string{"0", "1"} {
		holds(t, task+"\n", at, task, "out", "a.csv")
		holds(t, "program\n", at, task, "run")
		if list, err := os.ReadDir(filepath.Join(at, task)); err != nil || len(list) != 2 {
			t.Errorf("task %s: %v, %v", task, list, err)
		}
	}
	if i, err := os.Stat(filepath.Join(at, "1", "run")); err != nil || i.Mode().Perm()&0o100 == 0 {
		t.Errorf("%v, %v", i, err)
	}
	want := []jobs.FileLine{
		{Job: id, Task: 0, TaskFile: api.TaskFile{Path: "out/a.csv", Size: 2}}, {Job: id, Task: 0, TaskFile: api.TaskFile{Path: "run", Size: 8, Executable: true}},
		{Job: id, Task: 1, TaskFile: api.TaskFile{Path: "out/a.csv", Size: 2}}, {Job: id, Task: 1, TaskFile: api.TaskFile{Path: "run", Size: 8, Executable: true}},
	}
	if got := lines[jobs.FileLine](t, succeed(t, "files", id, "-o", "json")); !slices.Equal(got, want) {
		t.Errorf("listed %+v, want %+v", got, want)
	}
	if got := lines[jobs.FileLine](t, succeed(t, "files", id, "*.csv", "--task", "1", "-o", "json")); !slices.Equal(got, want[2:3]) {
		t.Errorf("listed %+v, want %+v", got, want[2:3])
	}
	if got := strings.Fields(succeed(t, "files", id[:len(id)-2], "out/*", "--task", "1")); !slices.Equal(got, []string{"TASK", "BYTES", "FILE", "1", "2", "out/a.csv"}) {
		t.Errorf("listed %q", got)
	}
	one := t.TempDir()
	if err := os.WriteFile(filepath.Join(one, "run"), []byte("an earlier one, which is longer"), 0o600); err != nil {
		t.Fatal(err)
	}
	succeed(t, "files", id, "--task", "1", "--attempt", "1", "--to", one)
	holds(t, "program\n", one, "run")

	t.Run("of run", func(t *testing.T) {
		whole := strings.Repeat("0123456789abcdef", 3*client.PieceBytes/16)
		to := t.TempDir()
		code, _, errs := program(t, "run", "--collect", to, "--", "sh", "-c", `i=0; while [ $i -lt 49152 ]; do printf 0123456789abcdef; i=$((i+1)); done > large; exit 3`)
		if code != 3 || !strings.Contains(errs, "1 file with 786432 bytes copied") {
			t.Errorf("status %d: %s", code, errs)
		}
		if got, err := os.ReadFile(filepath.Join(to, "large")); err != nil || !bytes.Equal(got, []byte(whole)) {
			t.Errorf("%d bytes, want %d: %v", len(got), len(whole), err)
		}
	})
	t.Run("refused", func(t *testing.T) {
		sleep := succeed(t, "submit", "--wait", "--sleep", "1ms")
		for _, c := range []struct {
			code int
			want string
			args []string
		}{
			{cli.ExitUsage, "syntax error in pattern", []string{"files", id, "[x"}},
			{cli.ExitUsage, "name it with --task", []string{"files", id, "--attempt", "1"}},
			{cli.ExitUsage, "has tasks 0 to 1, not 2", []string{"files", id, "--task", "2"}},
			{cli.ExitUsage, "names no folder", []string{"files", id, "--to", ""}},
			{cli.ExitUsage, "give --wait too", []string{"submit", "--collect", at, "--", "true"}},
			{cli.ExitFailed, "cannot be made", []string{"submit", "--wait", "--collect", filepath.Join(one, "run"), "--", "true"}},
			{cli.ExitFailed, "pigeon: task 0 of job ", []string{"files", sleep}},
			{cli.ExitFailed, "no such job", []string{"files", "unknown"}},
		} {
			if code, _, errs := program(t, c.args...); code != c.code || !strings.Contains(errs, c.want) {
				t.Errorf("%q: status %d, want %d and %q: %s", c.args, code, c.code, c.want, errs)
			}
		}
	})
}
