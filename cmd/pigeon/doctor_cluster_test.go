package main

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/cmd/pigeon/doctor"
	"github.com/pigeon-sched/pigeon/internal/cli"
)

// doctor asks the cluster that is named, and reports when no frontend answers there.
func TestDoctorAsksTheCluster(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	master := start(t, "master", "--listen", "127.0.0.1:0", "--http=", "--log-level", "error", "-o", "json")
	at := lines[readyLine](t, master.first)[0].Addresses["daemons"]
	front := start(t, "frontend", "--masters", at, "--listen", "127.0.0.1:0", "--internal-listen", "127.0.0.1:0", "--http=", "--data", t.TempDir(), "--log-level", "error", "-o", "json")
	serve := lines[readyLine](t, front.first)[0].Addresses["applications"]

	found := map[string]doctor.Finding{}
	_, out, errs := program(t, "doctor", "--frontend", serve, "-o", "json")
	for _, f := range lines[doctor.Finding](t, out) {
		found[f.Check] = f
	}
	for check, want := range map[string]struct {
		status doctor.Status
		words  string
	}{
		"cluster: frontends": {doctor.Good, serve}, "cluster: masters": {doctor.Good, "1 group has a master that is up"},
		"cluster: nodes": {doctor.Bad, "group 0 has no node"}, "cluster: versions": {doctor.Good, "all daemons"},
	} {
		if f := found[check]; f.Status != want.status || !strings.Contains(f.Found, want.words) {
			t.Errorf("%s finds %+v; %s", check, f, errs)
		}
	}

	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	code, out, errs := program(t, "doctor", "--frontend", closed.Addr().String(), "--retry-for", "0s")
	if code != cli.ExitFailed || !strings.Contains(out, "bad   cluster: frontends: "+closed.Addr().String()) || strings.Contains(out, "all daemons") {
		t.Errorf("without a cluster: status %d\n%s%s", code, out, errs)
	}
}

// Whether a user can read a file is tried as that user: a closed folder hides an open file.
func TestReadableFor(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can try it as another user")
	}
	folder, err := os.MkdirTemp("/tmp", "readable") //nolint:usetesting // every user can pass through the folders above it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	file := filepath.Join(folder, "key.pem")
	for _, c := range []struct {
		folder, file os.FileMode
		want         bool
	}{{0o755, 0o644, true}, {0o755, 0o600, false}, {0o700, 0o644, false}} {
		if err := errors.Join(os.WriteFile(file, nil, 0o600), os.Chmod(file, c.file), os.Chmod(folder, c.folder)); err != nil {
			t.Fatal(err)
		}
		if got := readableFor("nobody", file); got != c.want {
			t.Errorf("in a folder of mode %o a file of mode %o is readable: %v, want %v", c.folder, c.file, got, c.want)
		}
	}
	if readableFor("no such user", "/etc/passwd") {
		t.Error("a user that there is not can read a file")
	}
}
