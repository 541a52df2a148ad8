package rendezvous

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
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

// TestSeveral: of several devs commands go to the one of their session, else of their HOME, and to none
// where it is not clear which that is.
func TestSeveral(t *testing.T) {
	session, _ := Here()
	t.Setenv("HOME", "/home/here")
	for name, c := range map[string]struct {
		devs []Dev // all with numbers from 1
		want int   // 0: the error names all
	}{
		"one of elsewhere": {[]Dev{{Session: 1, Home: "/x"}}, 1},
		"two of elsewhere": {[]Dev{{Session: 1, Home: "/x"}, {Session: 2, Home: "/y"}}, 0},
		"own shell":        {[]Dev{{Session: 1, Home: "/home/here"}, {Session: session, Home: "/home/here"}, {Session: 3, Home: "/home/here"}}, 2},
		"own home":         {[]Dev{{Session: 1, Home: "/x"}, {Session: 2, Home: "/y"}, {Session: 3, Home: "/home/here"}}, 3},
		"two of the shell": {[]Dev{{Session: session, Home: "/home/here"}, {Session: session, Home: "/x"}}, 0},
		"two of the home":  {[]Dev{{Session: 1, Home: "/home/here"}, {Session: 2, Home: "/home/here"}}, 0},
		"unknown":          {[]Dev{{}, {}}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			path := here(t)
			for i, d := range c.devs {
				d.PID, d.Frontends = i+1, []string{"127.0.0.1:" + strconv.Itoa(i+1)}
				n, err := Publish(path, d)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = n.Withdraw() }) // the folder is the test's
				if len(n.Others) != i {
					t.Errorf("dev %d is told of %+v", d.PID, n.Others)
				}
			}
			found, err := Find(path)
			if c.want > 0 && (err != nil || found.PID != c.want) {
				t.Errorf("found %d, %v; want %d", found.PID, err, c.want)
			}
			several, ok := errors.AsType[*AmbiguousError](err)
			if c.want == 0 && (!ok || len(several.Devs) != len(c.devs) || !strings.Contains(err.Error(), "process 1 at 127.0.0.1:1, process 2 at 127.0.0.1:2")) {
				t.Errorf("found %d, %v", found.PID, err)
			}
		})
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
