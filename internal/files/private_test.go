package files_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/files"
)

// A secret that others can read or change is refused with the command that fixes it.
func TestReadPrivate(t *testing.T) {
	dir := t.TempDir()
	for mode, good := range map[fs.FileMode]bool{
		0o600: true, 0o400: true, 0o640: false, 0o604: false, 0o620: false, 0o602: false, 0o644: false, 0o666: false, 0o611: false,
	} {
		path := filepath.Join(dir, mode.String())
		if err := errors.Join(os.WriteFile(path, []byte("secret"), 0o600), os.Chmod(path, mode)); err != nil {
			t.Fatal(err)
		}
		got, err := files.ReadPrivate(path, "the secret", 6)
		e, _ := errors.AsType[*api.Error](err)
		switch {
		case good && (err != nil || string(got) != "secret"):
			t.Errorf("mode %v: %q, %v", mode, got, err)
		case !good && (e == nil || e.Problem != api.Denied || !strings.Contains(err.Error(), "chmod 600 ") || strings.Contains(err.Error(), "secret's")):
			t.Errorf("mode %v: %q, %v", mode, got, err)
		}
	}
}

func TestReadPrivateRefuses(t *testing.T) {
	dir := t.TempDir()
	long, pipe := filepath.Join(dir, "long"), filepath.Join(dir, "pipe")
	if err := errors.Join(os.WriteFile(long, []byte("1234567"), 0o600), syscall.Mkfifo(pipe, 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, err := files.ReadPrivate(long, "the secret", 6); err == nil || !strings.Contains(err.Error(), "limit of 6 bytes") {
		t.Errorf("a file that is too long: %v", err)
	}
	if _, err := files.ReadPrivate(filepath.Join(dir, "absent"), "the secret", 6); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "absent") {
		t.Errorf("a file that is not there: %v", err)
	}
	if got, err := files.ReadPrivate(pipe, "the secret", 6); err == nil && len(got) > 0 {
		t.Errorf("a pipe: %q", got)
	}
	if _, err := files.ReadPrivate(dir, "the secret", 6); err == nil {
		t.Error("a folder was read")
	}
	if os.Geteuid() != 0 {
		return
	}
	other := filepath.Join(dir, "other")
	if err := errors.Join(os.WriteFile(other, []byte("x"), 0o600), os.Chown(other, 65534, 65534)); err != nil {
		t.Fatal(err)
	}
	if _, err := files.ReadPrivate(other, "the secret", 6); err == nil || !strings.Contains(err.Error(), "65534") {
		t.Errorf("a file of another user: %v", err)
	}
}

func TestCheckFolder(t *testing.T) {
	dir := t.TempDir()
	for mode, good := range map[fs.FileMode]bool{0o700: true, 0o500: true, 0o755: false, 0o750: false, 0o701: false} {
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
		if err := files.CheckFolder(dir, "the keys"); (err == nil) != good || !good && !strings.Contains(err.Error(), "chmod 700 ") {
			t.Errorf("mode %v: %v", mode, err)
		}
	}
	if err := files.CheckFolder(filepath.Join(dir, "absent"), "the keys"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// Replace leaves the old file or the new one, with its mode, and nothing else.
func TestReplace(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x")
	for i, mode := range []fs.FileMode{0o600, 0o644, 0o600} {
		if err := files.Replace(path, mode, []byte{byte('a' + i)}); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		info, err2 := os.Stat(path)
		if errors.Join(err, err2) != nil || string(got) != string(rune('a'+i)) || info.Mode() != mode {
			t.Errorf("%q with %v, %v %v", got, info.Mode(), err, err2)
		}
	}
	folder := filepath.Join(dir, "folder")
	if err := errors.Join(os.Mkdir(folder, 0o700), os.WriteFile(filepath.Join(folder, "kept"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := files.Replace(folder, 0o600, nil); err == nil {
		t.Error("a folder was replaced")
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 2 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

// Only one of many processes holds the lock.
func TestLock(t *testing.T) {
	dir := t.TempDir()
	var all sync.WaitGroup
	var inside, together atomic.Int32 // a lock of the system orders nothing for the race detector
	for range 8 {
		all.Go(func() {
			unlock, err := files.Lock(dir)
			if err != nil {
				t.Error(err)
				return
			}
			if inside.Add(1) > 1 {
				together.Add(1)
			}
			inside.Add(-1)
			unlock()
		})
	}
	all.Wait()
	if n := together.Load(); n > 0 {
		t.Errorf("%d had it while another one had it", n)
	}
	if _, err := files.Lock(filepath.Join(dir, "absent")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// Who could read a file before it was rewritten can read it after.
func TestRewrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens")
	stat := func() (fs.FileMode, syscall.Stat_t) {
		t.Helper()
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return info.Mode().Perm(), *info.Sys().(*syscall.Stat_t)
	}
	if err := files.Rewrite(path, 0o600, []byte("first")); err != nil {
		t.Fatal(err)
	}
	if mode, _ := stat(); mode != 0o600 {
		t.Errorf("a new file has the mode %v", mode)
	}
	uid, gid := os.Geteuid(), os.Getegid()
	if uid == 0 {
		uid, gid = 12345, 12346
	}
	if err := errors.Join(os.Chown(path, uid, gid), os.Chmod(path, 0o640)); err != nil {
		t.Fatal(err)
	}
	if err := files.Rewrite(path, 0o600, []byte("second")); err != nil {
		t.Fatal(err)
	}
	if mode, is := stat(); mode != 0o640 || int(is.Uid) != uid || int(is.Gid) != gid {
		t.Errorf("mode %v, owner %d, group %d; want 0640, %d, %d", mode, is.Uid, is.Gid, uid, gid)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "second" {
		t.Errorf("%q, %v", text, err)
	}
}

// A key is refused with what others may do, except that root may let a group read its own.
func TestCheckSecret(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for mode, refused := range map[os.FileMode]bool{0o400: false, 0o600: false, 0o644: true, 0o604: true, 0o620: true, 0o660: true, 0o640: os.Geteuid() != 0} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if err := files.CheckSecret(path, "the key"); (err != nil) != refused || refused && !strings.Contains(err.Error(), "chmod 600 "+path) {
			t.Errorf("%04o: %v", mode, err)
		}
	}
}
