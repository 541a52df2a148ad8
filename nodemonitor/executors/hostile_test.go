package executors_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/identity"
	"github.com/pigeon-sched/pigeon/nodemonitor/executors"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// What an executor puts in the place of its output, or of its folder, is not read: it
// could be a link to any file of the node, or a pipe.
func TestOutputReplacedByTheExecutor(t *testing.T) {
	w := newWorld(t, func(c *executors.Config) { c.OutputLimit = 100_000 })
	w.order(shell("A", "echo out; sleep 1000"), "1")
	w.awaitState("A", "1", "running")
	folder := filepath.Join(w.cfg.Folder, "A", "1")
	secret := filepath.Join(t.TempDir(), "stdout")
	must(t, os.WriteFile(secret, []byte("secret"), 0o600))
	for name, replace := range map[string]func(path string) error{
		"a named pipe":    func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"a symbolic link": func(path string) error { return os.Symlink(secret, path) },
		"a folder":        func(path string) error { return os.Mkdir(path, 0o700) },
	} {
		path := filepath.Join(folder, "stderr")
		must(t, os.RemoveAll(path))
		must(t, replace(path))
		if code, text := w.log("/applications/A/1/stderr"); code != 409 || !strings.Contains(text, name) || !strings.Contains(text, "executor 1 of application A") {
			t.Errorf("%s: %d %s", name, code, text)
		}
	}

	// A file with holes is read no further than outputs are kept.
	must(t, os.RemoveAll(filepath.Join(folder, "stderr")))
	must(t, os.WriteFile(filepath.Join(folder, "stderr"), nil, 0o600))
	must(t, os.Truncate(filepath.Join(folder, "stderr"), 1<<40))
	if code, text := w.log("/applications/A/1/stderr?tail=0"); code != 200 || int64(len(text)) != w.cfg.OutputLimit {
		t.Errorf("%d, %d bytes", code, len(text))
	}

	// The folder itself, then that of the application.
	for _, f := range []string{folder, filepath.Dir(folder)} {
		must(t, os.Rename(f, f+".moved"))
		must(t, os.MkdirAll(filepath.Join(filepath.Dir(secret), "1"), 0o700))
		must(t, os.WriteFile(filepath.Join(filepath.Dir(secret), "1", "stdout"), []byte("secret"), 0o600))
		must(t, os.Symlink(filepath.Dir(secret), f))
		if code, text := w.log("/applications/A/1/stdout"); code != 404 || strings.Contains(text, "secret") {
			t.Errorf("behind the link %s: %d %s", f, code, text)
		}
		must(t, os.Remove(f))
		must(t, os.Rename(f+".moved", f))
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Only the user that registered the application, and operators, may read the output of an
// executor; and another user's order for an application of the same id is refused.
func TestOutputOfAnother(t *testing.T) {
	w := newWorld(t)
	a := shell("A", "echo secret; sleep 1000")
	a.Submitter = "alice"
	w.order(a, "1")
	w.awaitState("A", "1", "running")
	const path = "/applications/A/1/stdout"
	for _, c := range []struct {
		role identity.Role
		name string
		code int
	}{
		{identity.User, "alice", 200}, {identity.Operator, "olga", 200}, {identity.User, "bob", 403}, {identity.Viewer, "alice", 403}, {identity.Nobody, "", 403}, {identity.Frontend, "f", 403},
	} {
		if code, text := w.logAs(identity.Principal{Role: c.role, Name: c.name}, path); code != c.code || c.code != 200 && strings.Contains(text, "secret") {
			t.Errorf("%s %s: %d %s", c.role, c.name, code, text)
		}
	}
	a.Submitter = "bob"
	_, err := w.OrderExecutors(t.Context(), &wire.Order{Frontend: "f", Tenure: 99, Sequence: 1, Application: a, Executors: []string{"1"}})
	if e, ok := errors.AsType[*api.Error](err); !ok || e.Problem != api.Denied || !strings.Contains(e.What, "alice") {
		t.Errorf("an order for bob: %v", err)
	}
}
