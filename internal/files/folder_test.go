package files

import (
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestKeep: which folders are made, tightened and refused.
func TestKeep(t *testing.T) {
	for name, tc := range map[string]struct {
		folder, file fs.FileMode // 0: it is not there
		mode         fs.FileMode
		refused      string
		tightened    bool
	}{
		"a new one":                       {0, 0, Private, "", false},
		"a new passable one":              {0, 0, Passable, "", false},
		"of an earlier version":           {0o755, 0o644, Private, "", true},
		"with readable files only":        {0o700, 0o640, Private, "", true},
		"as it is":                        {0o700, 0o600, Private, "", false},
		"passable as it is":               {0o711, 0o600, Passable, "", false},
		"passable before":                 {0o711, 0o600, Private, "", true},
		"empty, and open to all":          {0o777, 0, Private, "", false},
		"where others could write":        {0o777, 0o600, Private, "chmod 700", false},
		"where the group could write":     {0o770, 0o600, Private, "chmod 700", false},
		"passable, others could write it": {0o733, 0o600, Passable, "chmod 711", false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "above", "data")
			if tc.folder != 0 {
				makeWith(t, dir, tc.folder, tc.file)
			}
			var log strings.Builder
			err := Keep(dir, tc.mode, slog.New(slog.NewTextHandler(&log, nil)), "file")
			if tc.refused != "" {
				if err == nil || !strings.Contains(err.Error(), tc.refused) {
					t.Errorf("%v, want a refusal with %q", err, tc.refused)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != tc.mode {
				t.Errorf("the folder is %v (%v)", info.Mode(), err)
			}
			if info, err := os.Stat(filepath.Join(dir, "file")); tc.file != 0 && (err != nil || info.Mode().Perm()&others != 0) {
				t.Errorf("the file is %v (%v)", info.Mode(), err)
			}
			if told := strings.Contains(log.String(), "now they cannot"); told != tc.tightened {
				t.Errorf("logged: %q", log.String())
			}
			if err := Keep(dir, tc.mode, nil, "file"); err != nil {
				t.Errorf("the second time: %v", err)
			}
		})
	}
}

// TestKeepLeavesSharedFolders: a folder that others use is refused and not changed, unless a daemon
// has used it before.
func TestKeepLeavesSharedFolders(t *testing.T) {
	for name, tc := range map[string]struct {
		folder  fs.FileMode
		entries []string // with a slash: folders; with an @: links
		refused bool
	}{
		"of other programs":              {0o755, []string{"dpkg/", "status"}, true},
		"that others may only pass":      {0o711, []string{"dpkg/"}, true},
		"with a link in place of a mark": {0o755, []string{"lock@"}, true},
		"used by a daemon":               {0o755, []string{"dpkg/", "lock"}, false},
		"private already":                {0o700, []string{"dpkg/"}, false},
		"a volume of its own":            {0o755, []string{"lost+found/"}, false},
		"empty":                          {0o755, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "data")
			makeWith(t, dir, tc.folder, 0)
			for _, e := range tc.entries {
				if err := makeEntry(dir, e); err != nil {
					t.Fatal(err)
				}
			}
			err := Keep(dir, Private, nil, "lock")
			info, stat := os.Stat(dir)
			if stat != nil {
				t.Fatal(stat)
			}
			switch {
			case !tc.refused && (err != nil || info.Mode().Perm() != Private):
				t.Errorf("%v, and the folder is %v", err, info.Mode())
			case tc.refused && (err == nil || !strings.Contains(err.Error(), "give this daemon a folder of its own")):
				t.Errorf("%v, want a refusal", err)
			case tc.refused && info.Mode().Perm() != tc.folder:
				t.Errorf("the refused folder is %v now", info.Mode())
			}
		})
	}
}

func makeEntry(dir, name string) error {
	path := filepath.Join(dir, strings.TrimRight(name, "/@"))
	switch name[len(name)-1] {
	case '/':
		return os.Mkdir(path, 0o755)
	case '@':
		return os.Symlink("/run/lock", path)
	}
	return os.WriteFile(path, nil, 0o644)
}

// makeWith makes a folder and a file in it with the modes.
func makeWith(t *testing.T, dir string, folder, file fs.FileMode) {
	t.Helper()
	err := os.MkdirAll(dir, 0o700)
	if err == nil && file != 0 {
		path := filepath.Join(dir, "file")
		if err = os.WriteFile(path, nil, 0o600); err == nil {
			err = os.Chmod(path, file)
		}
	}
	if err == nil {
		err = os.Chmod(dir, folder)
	}
	if err != nil {
		t.Fatal(err)
	}
}

const stranger = 61_240

// TestKeepRefusesWhatIsAnothers: a folder, a file in it, and a link to it.
func TestKeepRefusesWhatIsAnothers(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	dir := t.TempDir()
	for name, spoil := range map[string]func(path string) error{
		"folder": func(path string) error {
			return os.Chown(path, stranger, stranger)
		},
		"file": func(path string) error {
			return os.Chown(filepath.Join(path, "file"), stranger, stranger)
		},
		"link": func(path string) error {
			if err := os.Rename(path, path+"-own"); err != nil {
				return err
			}
			if err := os.Symlink(path+"-own", path); err != nil {
				return err
			}
			return os.Lchown(path, stranger, stranger)
		},
	} {
		path := filepath.Join(dir, name)
		makeWith(t, path, 0o700, 0o600)
		if err := spoil(path); err != nil {
			t.Fatal(err)
		}
		if err := Keep(path, Private, nil, "file"); err == nil || !strings.Contains(err.Error(), "belongs to user 61240") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestOpenPrivate(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	write := func(flag int) error {
		f, err := OpenPrivate(path, os.O_CREATE|os.O_WRONLY|flag)
		if err != nil {
			return err
		}
		if _, err := f.WriteString("x"); err != nil {
			t.Error(err)
		}
		return f.Close()
	}
	for _, step := range []struct {
		flag int
		want string
	}{{os.O_APPEND, "x"}, {os.O_APPEND, "xx"}, {os.O_TRUNC, "x"}} {
		if err := write(step.flag); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if text, _ := os.ReadFile(path); string(text) != step.want || err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("it holds %q with mode %v (%v)", text, info.Mode(), err)
		}
		if err := os.Chmod(path, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Rename(path, path+"2"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(path+"2", path); err != nil {
		t.Fatal(err)
	}
	if err := write(os.O_APPEND); err == nil {
		t.Error("a link was followed")
	}
	if os.Geteuid() != 0 {
		return
	}
	path += "2"
	if err := os.Chown(path, stranger, stranger); err != nil {
		t.Fatal(err)
	}
	if err := write(os.O_TRUNC); err == nil || !strings.Contains(err.Error(), "belongs to user") {
		t.Errorf("another user's file: %v", err)
	}
	if text, _ := os.ReadFile(path); len(text) == 0 {
		t.Error("another user's file was emptied")
	}
}

// TestGive: the folder is the user's alone, and what lies in the place of one is not followed.
func TestGive(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	dir := t.TempDir()
	makeWith(t, filepath.Join(dir, "own"), 0o755, 0)
	if err := Give(stranger, stranger+1, dir, "own"); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(dir, "own"))
	if err != nil {
		t.Fatal(err)
	}
	if s := info.Sys().(*syscall.Stat_t); s.Uid != stranger || s.Gid != stranger+1 || info.Mode().Perm() != Private {
		t.Errorf("it is %v of %d:%d", info.Mode(), s.Uid, s.Gid)
	}
	if err := os.Symlink("/etc", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if err := Give(stranger, stranger, dir, "link"); err == nil {
		t.Error("a link was given away")
	}
}

func TestWritable(t *testing.T) {
	dir := t.TempDir()
	if err := Writable(dir); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("the check leaves %v, %v", left, err)
	}
	for _, folder := range []string{filepath.Join(dir, "absent"), "/proc/self"} {
		if Writable(folder) == nil {
			t.Errorf("a file can be made in %s", folder)
		}
	}
}
