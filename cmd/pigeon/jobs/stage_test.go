package jobs

import (
	"os"
	"path/filepath"
	"testing"
)

// Files are named on the command line, by the head of a script or by a job file.
func TestStageOfScriptsAndJobFiles(t *testing.T) {
	dir := inputs(t)
	t.Chdir(dir)
	script := write(t, "job.sh", "#!/bin/sh\n#PIGEON --stage tool=bin/t --stage 'in/a'\ntrue\n")
	file := write(t, "job.yaml", "command: [bin/t]\nstage: [tool=bin/t, in/a]\n")
	for _, args := range [][]string{{"--stage", "tool=bin/t", "--stage", "in/a", "--", "bin/t"}, {script}, {"--file", file}} {
		r, _, err := asked(t, "", args...)
		if err != nil {
			t.Errorf("%q: %v", args, err)
			continue
		}
		if len(r.Stage) != 2 || r.Stage[0].Name != "bin/t" || !r.Stage[0].Executable || r.Stage[1].Name != "a" || r.Stage[1].Size != int64(len("in/a")) {
			t.Errorf("%q: %+v", args, r.Stage)
		}
	}
	for _, args := range [][]string{{"--stage", "tool", "--dir", "/tmp", "--", "true"}, {"--stage", "tool", "--sleep", "1s"}, {"--stage", "tool=../t", "--", "true"}} {
		if _, _, err := asked(t, "", args...); err == nil {
			t.Errorf("%q was not refused", args)
		}
	}
}

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
