package logs

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
)

// A task may put anything in the place of its output. Reading it neither waits nor
// follows a link, reports what it found, and is counted.
func TestOutputReplacedByTheTask(t *testing.T) {
	dir := t.TempDir()
	secret := filepath.Join(dir, "secret")
	must(t, os.WriteFile(secret, []byte("secret"), 0o600))
	for name, c := range map[string]struct {
		make func(path string) error
		want string
	}{
		"pipe":        {func(path string) error { return syscall.Mkfifo(path, 0o600) }, "a named pipe"},
		"link":        {func(path string) error { return os.Symlink(secret, path) }, "a symbolic link"},
		"inside link": {func(path string) error { return os.Symlink("1.1.out", path) }, "a symbolic link"},
		"dead link":   {func(path string) error { return os.Symlink("nowhere", path) }, "a symbolic link"},
		"folder":      {func(path string) error { return os.Mkdir(path, 0o700) }, "a folder"},
		"socket":      {socket, "a socket"},
	} {
		t.Run(name, func(t *testing.T) {
			s, clock := open(t, Config{})
			write(t, s, attempt(1, 1), 10)
			f, err := begin(s, attempt(0, 1))
			must(t, err)
			must(t, c.make(f.Stdout))
			chunk, err := s.Read(attempt(0, 1), Stdout, 0, 0)
			e, ok := errors.AsType[*api.Error](err)
			if !ok || !strings.Contains(e.What, c.want) || e.Problem != api.Invalid || e.Next == "" || len(chunk.Data) != 0 {
				t.Errorf("read %+v, %v", chunk, err)
			}
			if got := s.Stats(); got != (Stats{Irregular: 1}) {
				t.Errorf("counted %+v", got)
			}
			s.End(attempt(0, 1), false)
			clock.now = clock.now.Add(2 * time.Hour)
			sweep(t, s)
			if exists(f.Stdout) || !exists(secret) {
				t.Error("what the task put there stays, or what a link led to went")
			}
		})
	}
}

func socket(path string) error {
	// The path of a socket is short.
	dir, err := os.MkdirTemp("", "s")
	if err != nil {
		return err
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: dir + "/s", Net: "unix"})
	if err != nil {
		return err
	}
	l.SetUnlinkOnClose(false)
	return errors.Join(l.Close(), os.Rename(dir+"/s", path), os.Remove(dir))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A task may replace the folder of its job. Nothing behind a link there is read, counted
// or removed, and the next attempt gets a folder again.
func TestFolderReplacedByTheTask(t *testing.T) {
	s, clock := open(t, Config{MaxBytes: 100})
	f := write(t, s, attempt(0, 1), 10)
	elsewhere := t.TempDir()
	precious := filepath.Join(elsewhere, "0.1", "precious")
	must(t, os.Mkdir(filepath.Dir(precious), 0o700))
	for _, path := range []string{precious, filepath.Join(elsewhere, "0.1.out")} {
		must(t, os.WriteFile(path, []byte(strings.Repeat("p", 1000)), 0o600))
	}
	folder := filepath.Dir(f.Folder)
	must(t, os.Rename(folder, folder+".moved"))
	must(t, os.Symlink(elsewhere, folder))
	if c, err := s.Read(attempt(0, 1), Stdout, 0, 0); err == nil {
		t.Errorf("read %d bytes through the link", len(c.Data))
	}
	_ = s.Sweep() // it may name what it could not remove
	if s.ended.bytes() > 100 {
		t.Errorf("%d bytes are counted", s.ended.bytes())
	}
	clock.now = clock.now.Add(2 * time.Hour)
	_ = s.Sweep()
	if !exists(precious) || !exists(filepath.Join(elsewhere, "0.1.out")) {
		t.Fatal("removed behind the link")
	}
	write(t, s, attempt(0, 2), 10)
	if c, err := s.Read(attempt(0, 2), Stdout, 0, 0); err != nil || len(c.Data) != 10 || !exists(precious) {
		t.Errorf("the next attempt: %d bytes, %v", len(c.Data), err)
	}
}

// A file with holes is as large as what it occupies: otherwise one that claims more than
// the bound for all files would cause everything else to be dropped.
func TestFilesWithHoles(t *testing.T) {
	s, _ := open(t, Config{MaxBytes: 1 << 20})
	write(t, s, attempt(0, 1), 10)
	f, err := begin(s, attempt(1, 1))
	must(t, err)
	must(t, os.Mkdir(f.Folder, 0o700))
	for _, path := range []string{filepath.Join(f.Folder, "huge"), f.Stdout} {
		must(t, os.WriteFile(path, nil, 0o600))
		must(t, os.Truncate(path, 1<<40))
	}
	c, err := s.Read(attempt(1, 1), Stdout, 1<<40-5, 0)
	if err != nil || len(c.Data) != 5 {
		t.Errorf("the end of it: %d bytes, %v", len(c.Data), err)
	}
	s.End(attempt(1, 1), false)
	sweep(t, s)
	if len(s.Attempts(job, 0)) != 1 {
		t.Error("the logs of another task were dropped")
	}
}

// A file that is cut between two reads, or below the offset, ends there.
func TestFileCutWhileItIsRead(t *testing.T) {
	s, _ := open(t, Config{})
	f := write(t, s, attempt(0, 1), 100)
	c, err := s.Read(attempt(0, 1), Stdout, 0, 50)
	if err != nil || len(c.Data) != 50 {
		t.Fatal(len(c.Data), err)
	}
	must(t, os.Truncate(f.Stdout, 10))
	c, err = s.Read(attempt(0, 1), Stdout, 50, 50)
	if err != nil || len(c.Data) != 0 || !c.Ended || c.Size != 10 {
		t.Errorf("%+v, %v", c, err)
	}
}
