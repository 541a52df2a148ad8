package rendezvous

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
)

func here(t *testing.T) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "pigeon", "dev.json")
}

func TestPublishFindWithdraw(t *testing.T) {
	path, want := here(t), Dev{PID: 7, Frontends: []string{"127.0.0.1:1"}, Web: "http://127.0.0.1:2", NATS: "nats://127.0.0.1:3"}
	if _, err := Find(path); !errors.Is(err, ErrNone) || !strings.Contains(err.Error(), path) {
		t.Errorf("before: %v", err)
	}
	n, err := Publish(path, want)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // asking changes nothing
		if got, err := Find(path); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("found %+v, %v", got, err)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if err := errors.Join(n.Withdraw(), n.Withdraw()); err != nil {
		t.Error(err)
	}
	if _, err := Find(path); !errors.Is(err, ErrNone) {
		t.Errorf("after: %v", err)
	}
	if _, err := os.Lstat(filepath.Dir(path)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder is left: %v", err)
	}
}

// TestSecond: a second dev is told of the first one, which commands still find.
func TestSecond(t *testing.T) {
	path := here(t)
	first, err := Publish(path, Dev{PID: 1, Frontends: []string{"127.0.0.1:1"}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = Publish(path, Dev{PID: 2})
	if taken, ok := errors.AsType[*TakenError](err); !ok || taken.By.PID != 1 || !strings.Contains(err.Error(), "(process 1 at 127.0.0.1:1)") {
		t.Errorf("the second is told %v", err)
	}
	if found, err := Find(path); err != nil || found.PID != 1 {
		t.Errorf("found %+v, %v", found, err)
	}
	if err := first.Withdraw(); err != nil {
		t.Fatal(err)
	}
	second, err := Publish(path, Dev{PID: 2})
	if err != nil {
		t.Fatal(err)
	}
	if err := second.Withdraw(); err != nil {
		t.Error(err)
	}
}

// TestFolderOfOthers: a folder with other files is left.
func TestFolderOfOthers(t *testing.T) {
	path := here(t)
	n, err := Publish(path, Dev{PID: 7})
	if err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(filepath.Dir(path), "other")
	if err := errors.Join(os.WriteFile(other, nil, 0o600), n.Withdraw()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(other); err != nil {
		t.Error(err)
	}
}

// TestComingAndGoing: devs that come while others remove the folder are announced all the same, or
// find another one.
func TestComingAndGoing(t *testing.T) {
	path := here(t)
	var all sync.WaitGroup
	for pid := range 4 {
		all.Go(func() {
			for range 50 {
				n, err := Publish(path, Dev{PID: pid})
				if err == nil {
					err = n.Withdraw()
				} else if _, taken := errors.AsType[*TakenError](err); taken {
					err = nil
				}
				if err != nil && !strings.Contains(err.Error(), "others come and go too fast") {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
}

// TestStale: the file of a process that ended without withdrawing it is not
// believed, and taken over.
func TestStale(t *testing.T) {
	path := here(t)
	n, err := Publish(path, Dev{PID: 7, Frontends: []string{"a long one, so that the next is shorter:1"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := n.file.Close(); err != nil { // what the kernel does at the end of a process
		t.Fatal(err)
	}
	if _, err := Find(path); !errors.Is(err, ErrNone) || !strings.Contains(err.Error(), "process 7") {
		t.Errorf("found %v", err)
	}
	next, err := Publish(path, Dev{PID: 8})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := Find(path); err != nil || got.PID != 8 {
		t.Errorf("found %+v, %v", got, err)
	}
	if err := next.Withdraw(); err != nil {
		t.Error(err)
	}
}

// TestStarting: the file of a process that ended is not believed either while the next one has taken
// it, and has not written yet where it serves.
func TestStarting(t *testing.T) {
	path := here(t)
	n, err := Publish(path, Dev{PID: 7})
	if err != nil {
		t.Fatal(err)
	}
	if err := n.file.Close(); err != nil { // likewise
		t.Fatal(err)
	}
	next, err := lock(path)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := Find(path); !errors.Is(err, ErrNone) || !strings.Contains(err.Error(), "is starting") {
		t.Errorf("found %+v, %v", got, err)
	}
	if err := next.Close(); err != nil {
		t.Error(err)
	}
}

// TestForeignFolder: a folder that others can write to is not trusted.
func TestForeignFolder(t *testing.T) {
	path := here(t)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Dir(path), 0o777); err != nil { //nolint:gosec // the point
		t.Fatal(err)
	}
	if _, err := Find(path); err == nil || errors.Is(err, ErrNone) {
		t.Errorf("found: %v", err)
	}
	if _, err := Publish(path, Dev{}); err == nil {
		t.Error("published")
	}
}

func TestPath(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", "/run/user/5")
	if got := Path(); got != "/run/user/5/pigeon/dev.json" {
		t.Error(got)
	}
	t.Setenv("XDG_RUNTIME_DIR", "")
	if got := Path(); !strings.HasPrefix(got, os.TempDir()) {
		t.Error(got)
	}
}
