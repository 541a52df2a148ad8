package rendezvous

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
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
		if got, err := Find(path); err != nil || !reflect.DeepEqual(got, Answer{Dev: want}) {
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

// TestSeveral: commands go to the first dev and are told of the others; when it has ended, to the
// only other one, and to none of two. The next dev is the first again.
func TestSeveral(t *testing.T) {
	path := here(t)
	publish := func(pid, first int) *Notice {
		t.Helper()
		n, err := Publish(path, Dev{PID: pid, Frontends: []string{"127.0.0.1:" + strconv.Itoa(pid)}})
		if err != nil {
			t.Fatal(err)
		}
		if (first == 0) != (n.First == nil) || first != 0 && n.First.PID != first {
			t.Errorf("dev %d is told that commands go to %+v, not to %d", pid, n.First, first)
		}
		return n
	}
	finds := func(want ...int) {
		t.Helper()
		found, err := Find(path)
		var got []int
		for _, d := range append([]Dev{found.Dev}, found.Others...) {
			got = append(got, d.PID)
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("found %v, %v; want %v", got, err, want)
		}
	}
	ends := func(n *Notice) {
		t.Helper()
		if err := n.Withdraw(); err != nil {
			t.Fatal(err)
		}
	}
	a, b, c := publish(1, 0), publish(2, 1), publish(3, 1)
	finds(1, 2, 3)
	ends(a)
	_, err := Find(path)
	if several, ok := errors.AsType[*AmbiguousError](err); !ok || len(several.Devs) != 2 || !strings.Contains(err.Error(), "process 2 at 127.0.0.1:2, process 3 at 127.0.0.1:3") {
		t.Errorf("of two others: %v", err)
	}
	a = publish(4, 0)
	finds(4, 2, 3)
	ends(a)
	ends(b)
	finds(3)
	ends(c)
	if _, err := os.Lstat(filepath.Dir(path)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder is left: %v", err)
	}
}

// TestTooMany: the number of devs that commands know of is bounded.
func TestTooMany(t *testing.T) {
	path := here(t)
	for pid := range maxDevs + 1 {
		n, err := Publish(path, Dev{PID: pid})
		if err == nil {
			t.Cleanup(func() { _ = n.Withdraw() }) // the folder is the test's
		}
		if taken, ok := errors.AsType[*TakenError](err); ok != (pid == maxDevs) || err != nil && !ok {
			t.Errorf("dev %d: %v, %v", pid, taken, err)
		}
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
