package guard

import (
	"os"
	"path/filepath"
	"testing"
)

// TestSpareFolder: a folder that an ended process has left becomes the next one's where it is as
// good as new, and otherwise nothing of its former content is seen.
func TestSpareFolder(t *testing.T) {
	c := client(t)
	for name, tc := range map[string]struct {
		spoil  func(spare string) error
		reused bool
	}{
		"as it was made": {func(string) error { return nil }, true},
		"gone":           {os.Remove, false},
		"not empty":      {func(spare string) error { return os.WriteFile(filepath.Join(spare, "x"), nil, 0o600) }, false},
		"open to others": {func(spare string) error { return os.Chmod(spare, 0o777) }, false},
		"a file": {func(spare string) error {
			return replace(spare, func() error { return os.WriteFile(spare, nil, 0o700) })
		}, false},
		"a link": {func(spare string) error {
			return replace(spare, func() error { return os.Symlink(t.TempDir(), spare) })
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := shell("test -z \"$(ls -A)\" && test \"$(pwd -P)\" = \"$PWD\"")
			s.Dir, s.MakeDir, s.Spare = filepath.Join(dir, "job", "2.1"), true, filepath.Join(dir, "1.1")
			if err := os.Mkdir(s.Spare, 0o700); err != nil {
				t.Fatal(err)
			}
			before, err := os.Lstat(s.Spare)
			if err == nil {
				err = os.Mkdir(filepath.Dir(s.Dir), 0o700)
			}
			if err == nil {
				err = tc.spoil(s.Spare)
			}
			if err != nil {
				t.Fatal(err)
			}
			s.Env = []string{"PWD=" + s.Dir}
			if e := start(t, c, s).end(); e.Kind != Ended || e.Status != 0 {
				t.Errorf("it ended as %+v", e)
			}
			after, err := os.Lstat(s.Dir)
			if err != nil || !after.IsDir() || after.Mode().Perm() != 0o700 {
				t.Fatalf("its folder is %v (%v)", after, err)
			}
			if reused := os.SameFile(before, after); tc.reused && !reused {
				t.Error("the folder was not used again")
			}
			if _, err := os.Lstat(s.Spare); tc.reused && err == nil {
				t.Error("the folder has its former name, too")
			}
		})
	}
}

func replace(path string, with func() error) error {
	if err := os.Remove(path); err != nil {
		return err
	}
	return with()
}
