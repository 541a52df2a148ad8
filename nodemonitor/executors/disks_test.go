package executors_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/await"
	"github.com/pigeon-sched/pigeon/nodemonitor/accounts"
	"github.com/pigeon-sched/pigeon/nodemonitor/disk"
	"github.com/pigeon-sched/pigeon/nodemonitor/executors"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// keepsLocalFiles is an executor that says where its local files are, has one in each of the folders,
// and is killed without removing them.
const keepsLocalFiles = `echo "$SPARK_EXECUTOR_DIRS"; IFS=:; for d in $SPARK_EXECUTOR_DIRS; do mkdir -p "$d" && echo x > "$d/shuffle"; done; echo written; sleep 1000`

// localFiles starts that executor and returns the folders that it names.
func (w *world) localFiles(id string) (a api.Application, dirs []string) {
	w.t.Helper()
	a = shell("app", keepsLocalFiles)
	a.Template.Env = []string{"SPARK_EXECUTOR_DIRS={{FOLDER}}/local"}
	w.order(a, id)
	var out string
	w.await("local files are written", func(wire.Holdings) bool {
		_, out = w.log("/applications/app/" + id + "/stdout")
		return strings.Contains(out, "written")
	})
	first, _, _ := strings.Cut(out, "\n")
	dirs = strings.Split(first, ":")
	for _, d := range dirs {
		if _, err := os.Stat(filepath.Join(d, "shuffle")); err != nil {
			w.t.Error(err)
		}
	}
	return a, dirs
}

// gone waits until paths lead to nothing.
func (w *world) gone(paths ...string) {
	w.t.Helper()
	for _, path := range paths {
		await.Until(w.t, path+" is removed", func() bool {
			_, err := os.Lstat(path)
			return os.IsNotExist(err)
		})
	}
}

// The local files of an executor are divided among the disks of the node. They are removed when it
// ends, with or without local_dirs; its output can be read until its application is over.
func TestLocalFiles(t *testing.T) {
	for _, disks := range []int{0, 2} {
		t.Run(fmt.Sprint(disks), func(t *testing.T) {
			var local []string
			for range disks {
				local = append(local, t.TempDir())
			}
			w := newWorld(t, func(c *executors.Config) { c.LocalDirs = local })
			a, dirs := w.localFiles("1")
			want := []string{w.cfg.Folder + "/app/1/local"}
			if disks > 0 {
				want = nil
			}
			for _, d := range local {
				want = append(want, d+"/pigeon.executors.n1/app/1")
			}
			if fmt.Sprint(dirs) != fmt.Sprint(want) {
				t.Errorf("the folders are %q, want %q", dirs, want)
			}
			w.order(a) // without the executor
			w.gone(want...)
			if _, out := w.log("/applications/app/1/stdout"); !strings.Contains(out, "written") {
				t.Errorf("the output is %q", out)
			}
			w.over(a)
			for _, d := range local {
				root := filepath.Join(d, "pigeon.executors.n1")
				await.Until(t, root+" is empty", func() bool {
					left, err := os.ReadDir(root)
					return err == nil && len(left) == 0
				})
			}
		})
	}
}

// What an earlier process has left on the disks is removed at the start; other files there are not.
func TestLocalFilesOfAnEarlierProcess(t *testing.T) {
	dir := t.TempDir()
	left, other := filepath.Join(dir, "pigeon.executors.n1", "app", "9", "shuffle"), filepath.Join(dir, "pigeon.executors.n2", "x")
	for _, path := range []string{left, other} {
		if err := os.MkdirAll(path, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	newWorld(t, func(c *executors.Config) { c.LocalDirs = []string{dir} })
	if _, err := os.Lstat(left); !os.IsNotExist(err) {
		t.Errorf("%s: %v", left, err)
	}
	if _, err := os.Lstat(other); err != nil {
		t.Error(err)
	}
}

// A broken disk costs a node its part of the room, and nothing else; without any disk it does not
// start.
func TestLocalDirThatIsBroken(t *testing.T) {
	broken, dir := "/dev/null/disk", t.TempDir()
	var log bytes.Buffer
	w := newWorld(t, func(c *executors.Config) {
		c.LocalDirs, c.Logger = []string{broken, dir}, slog.New(slog.NewTextHandler(&log, nil))
	})
	if got := log.String(); strings.Count(got, "one of local_dirs cannot be used") != 1 || !strings.Contains(got, "folder="+broken) {
		t.Errorf("the log is %q", got)
	}
	if _, dirs := w.localFiles("1"); len(dirs) != 1 || !strings.HasPrefix(dirs[0], dir) {
		t.Errorf("the folders are %q", dirs)
	}
	cfg := w.cfg
	cfg.Folder, cfg.LocalDirs = t.TempDir(), []string{broken}
	if _, err := executors.New(cfg); err == nil || !strings.Contains(err.Error(), "none of local_dirs can be used") || !strings.Contains(err.Error(), broken) {
		t.Errorf("without a disk that works: %v", err)
	}
}

// Disks that break later cost an executor its part there; one that has none is refused.
func TestLocalDirThatBreaks(t *testing.T) {
	dirs := []string{t.TempDir(), t.TempDir()}
	w := newWorld(t, func(c *executors.Config) { c.LocalDirs = dirs })
	for i, dir := range dirs {
		root := filepath.Join(dir, "pigeon.executors.n1")
		if err := os.RemoveAll(root); err != nil { // as when it is unmounted
			t.Fatal(err)
		}
		if i == 0 {
			a, got := w.localFiles("1")
			if len(got) != 1 || !strings.HasPrefix(got[0], dirs[1]) {
				t.Errorf("the folders are %q", got)
			}
			w.order(a)
			w.gone(got...)
		}
	}
	w.order(shell("app", keepsLocalFiles), "2")
	if x := w.awaitState("app", "2", api.ExecutorExited); !x.Refused || !strings.Contains(x.State.Reason, "in none of the node's local_dirs") {
		t.Errorf("%+v", x)
	}
}

// The local files of an executor belong to its user, who alone can enter their folder.
func TestLocalFilesOfAnAccount(t *testing.T) {
	if _, err := user.Lookup("nobody"); os.Geteuid() != 0 || err != nil {
		t.Skip("only root can run executors as another user, and there must be one named nobody")
	}
	as, err := accounts.New(accounts.Config{RunAs: "nobody"})
	if err != nil {
		t.Fatal(err)
	}
	local := passable(t)
	w := newWorld(t, func(c *executors.Config) {
		c.Accounts, c.Folder, c.LocalDirs = as, filepath.Join(passable(t), "applications"), []string{local}
	})
	a, dirs := w.localFiles("1")
	info, err := os.Stat(dirs[0])
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info, err)
	}
	w.over(a)
	w.gone(dirs...)
}

func TestLocalDirsFault(t *testing.T) {
	for want, dirs := range map[string][]string{
		"":               {"/a", "/b"},
		"full paths":     {"/a", "b"},
		"without one":    {"/a:b"},
		"each folder on": {"/a", "/b", "/a/"},
	} {
		if got := executors.LocalDirsFault(dirs); !strings.Contains(got, want) || (got == "") != (want == "") {
			t.Errorf("%q: %q, want %q", dirs, got, want)
		}
	}
}

// An executor that cannot begin because of the node's disk is wanted elsewhere; one that cannot by its
// own fault is refused.
func TestExecutorOnAFaultyDisk(t *testing.T) {
	var full atomic.Bool
	w := newWorld(t, func(c *executors.Config) {
		c.Disk = disk.New(disk.Config{
			Changed: func(string) {}, Log: slog.New(slog.DiscardHandler),
			Probe: func() error {
				if full.Load() {
					return syscall.ENOSPC
				}
				return nil
			},
		})
	})
	absent := shell("absent", "true")
	absent.Template.Argv = []string{"no-such-program"}
	w.order(absent, "1")
	if x := w.awaitState("absent", "1", api.ExecutorExited); !x.Refused {
		t.Errorf("%+v", x)
	}
	full.Store(true)
	w.order(absent, "1", "2")
	if x := w.awaitState("absent", "2", api.ExecutorWaiting); !x.Refused {
		t.Errorf("%+v", x)
	}
}
