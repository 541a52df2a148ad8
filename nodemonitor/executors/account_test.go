package executors_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/files"
	"github.com/pigeon-sched/pigeon/nodemonitor/accounts"
	"github.com/pigeon-sched/pigeon/nodemonitor/executors"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// passable returns a new folder that others may pass, as those of tests may not.
func passable(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, folder := range []string{filepath.Dir(dir), dir} {
		if err := os.Chmod(folder, files.Passable); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// An executor of another user has a folder of its own, with copies of its application's files and
// its secrets in its environment, where only that user and root can read them.
func TestAccount(t *testing.T) {
	nobody, err := user.Lookup("nobody")
	if os.Geteuid() != 0 || err != nil {
		t.Skip("only root can run executors as another user, and there must be one named nobody")
	}
	t.Setenv("SECRET_OF_THE_NODE", "x")
	t.Setenv("SPARK_LOCAL_DIRS", "/scratch")
	as, err := accounts.New(accounts.Config{RunAs: "nobody"})
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, func(c *executors.Config) { c.Accounts, c.Folder = as, filepath.Join(passable(t), "applications") })
	a := shell("app", `id -u; stat -c %a:%u . f.txt; cat f.txt; echo "$SPARK_LOCAL_DIRS $USER ${SECRET_OF_THE_NODE-none} $_SPARK_AUTH_SECRET"; sleep 1000`)
	a.Template.Env = []string{"_SPARK_AUTH_SECRET=s3cret"}
	a.Template.Files = []api.File{theFile()}
	w.order(a, "1")
	w.awaitState("app", "1", api.ExecutorRunning)
	want := fmt.Sprintf("%[1]s\n700:%[1]s\n600:%[1]s\n%s/scratch nobody none s3cret\n", nobody.Uid, content)
	var out string
	w.await("its output", func(wire.Holdings) bool {
		_, out = w.log("/applications/app/1/stdout")
		return strings.Contains(out, "s3cret")
	})
	if out != want {
		t.Errorf("%q\nwant %q", out, want)
	}
	for _, folder := range []string{w.cfg.Folder, filepath.Join(w.cfg.Folder, "app")} {
		if info, err := os.Stat(folder); err != nil || info.Mode().Perm() != files.Passable {
			t.Errorf("%s is %v, %v", folder, info.Mode(), err)
		}
	}
	w.over(a)
	w.await("all is gone", func(h wire.Holdings) bool {
		left, _ := filepath.Glob(w.cfg.Folder + "/*")
		hidden, _ := filepath.Glob(w.cfg.Folder + "/.over*")
		return len(h.Applications) == 0 && len(left)+len(hidden) == 0
	})
}

// An executor whose submitter may not run here is refused with the reason.
func TestAccountIsRefused(t *testing.T) {
	as, err := accounts.New(accounts.Config{RunAs: accounts.Submitter})
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, func(c *executors.Config) { c.Accounts = as })
	w.order(shell("app", "true"), "1")
	if x := w.awaitState("app", "1", api.ExecutorExited); !x.Refused || !strings.Contains(x.State.Reason, "nobody has proven who submitted it") {
		t.Errorf("%+v", x)
	}
}

// A node whose owner chose folders for Spark, which executors do not use, says so.
func TestLocalDirsAreIgnored(t *testing.T) {
	for dirs, want := range map[string]bool{"": false, "/scratch": true} {
		t.Setenv("SPARK_LOCAL_DIRS", dirs)
		var log bytes.Buffer
		newWorld(t, func(c *executors.Config) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
		if got := strings.Contains(log.String(), "SPARK_LOCAL_DIRS=/scratch"); got != want {
			t.Errorf("with SPARK_LOCAL_DIRS=%q the log is %q", dirs, log.String())
		}
	}
}
