package main

import (
	"net"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/cmd/pigeon/daemons"
	"github.com/pigeon-sched/pigeon/cmd/pigeon/doctor"
	"github.com/pigeon-sched/pigeon/internal/cli"
)

// doctor asks the cluster that is named, and reports when no frontend answers there.
func TestDoctorAsksTheCluster(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	master := start(t, "master", "--listen", "127.0.0.1:0", "--http=", "--log-level", "error", "-o", "json")
	at := lines[daemons.Line](t, master.first)[0].Addresses["daemons"]
	front := start(t, "frontend", "--masters", at, "--listen", "127.0.0.1:0", "--internal-listen", "127.0.0.1:0", "--http=", "--data", t.TempDir(), "--log-level", "error", "-o", "json")
	serve := lines[daemons.Line](t, front.first)[0].Addresses["applications"]

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
