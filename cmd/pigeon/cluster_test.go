package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/cmd/pigeon/clusters"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/cli"
)

// hostsHere are hosts for 'pigeon cluster' that are folders and loopback addresses of this
// machine, reached by a program ssh that runs the command here.
type hostsHere struct {
	t         *testing.T
	folder    string
	inventory string
	network   string
}

func newHostsHere(t *testing.T) *hostsHere {
	if runtime.GOOS != "linux" {
		t.Skip("each host needs a loopback address of its own")
	}
	h := &hostsHere{t: t, folder: t.TempDir(), network: fmt.Sprintf("127.%d.%d.", 1+rand.IntN(250), rand.IntN(250))}
	h.inventory = filepath.Join(h.folder, "inventory.yaml")
	ssh := "#!/bin/sh\nfor a in \"$@\"; do [ \"$a\" = exit ] && exit 0; done\nwhile [ \"$1\" != -- ]; do shift; done\n" +
		"case $2 in *gone*) echo 'No route to host' >&2; exit 255 ;; esac\nshift 2\nexec sh -c \"$*\"\n"
	if err := os.Mkdir(filepath.Join(h.folder, "bin"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(h.folder, "bin", "ssh"), []byte(ssh), 0o700); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	t.Setenv("PATH", filepath.Join(h.folder, "bin")+":"+os.Getenv("PATH"))
	t.Setenv("PIGEON_FRONTEND", "")
	t.Cleanup(func() { // the test's own context has ended
		run(context.Background(), []string{"cluster", "remove", "--yes", h.inventory}, strings.NewReader(""), io.Discard, io.Discard)
	})
	return h
}

// write writes the inventory: three hosts with all roles, and the given lines.
func (h *hostsHere) write(more string) {
	h.t.Helper()
	text := "cluster: here\nsecurity: insecure\nservice_manager: none\nhosts:\n"
	for i := 1; i <= 3; i++ {
		text += fmt.Sprintf("  - {name: m%[1]d, address: %[2]s%[1]d, prefix: %[3]s/m%[1]d, roles: [nats, master, frontend, node], slots: 4, settings: {nats: {max_store: 268435456}, node: {run_as: daemon, allow_root: true}}}\n", i, h.network, h.folder)
	}
	if err := os.WriteFile(h.inventory, []byte(text+more), 0o600); err != nil {
		h.t.Fatal(err)
	}
}

func (h *hostsHere) run(args ...string) (code int, stdout, stderr string) {
	var out, errs strings.Builder
	code = run(h.t.Context(), args, strings.NewReader(""), &out, &errs)
	return code, out.String(), errs.String()
}

// cluster runs a verb of 'pigeon cluster', which must end with the status, and returns its
// result for each host.
func (h *hostsHere) cluster(status int, verb string, args ...string) []clusters.HostResult {
	h.t.Helper()
	code, out, errs := h.run(slices.Concat([]string{"cluster", verb, h.inventory, "-o", "json"}, args)...)
	if code != status {
		h.t.Fatalf("cluster %s ended with %d: %s", verb, code, errs)
	}
	return lines[clusters.HostResult](h.t, out)
}

func states(results []clusters.HostResult) string {
	var list []string
	for _, r := range results {
		list = append(list, r.State)
	}
	return strings.Join(list, ", ")
}

// A cluster is installed by 'pigeon cluster apply', which changes nothing the second time and
// repairs what was changed by hand; one host that cannot be reached does not stop the others.
// An upgrade loses nothing, and nothing is left after the removal.
func TestClusterOnHosts(t *testing.T) {
	h := newHostsHere(t)
	h.write("  - {name: gone, address: " + h.network + "9, ssh: gone, roles: [node], slots: 1}\n")
	got := h.cluster(cli.ExitFailed, "apply")
	if s := states(got); s != "changed, changed, changed, failed" || !strings.Contains(got[3].Error, "No route to host") {
		t.Fatalf("after the first apply: %s; %+v", s, got)
	}
	h.write("")
	if got := h.cluster(cli.ExitDone, "apply"); states(got) != "as planned, as planned, as planned" {
		t.Errorf("after the second apply: %+v", got)
	}
	edited := filepath.Join(h.folder, "m2", "etc", "pigeon", "frontend.yaml")
	if err := os.WriteFile(edited, []byte("id: another\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := h.cluster(cli.ExitDone, "status"); states(got) != "as planned, different, as planned" || !got[0].Daemons[3].Ready {
		t.Errorf("with a file that was edited: %+v", got)
	}
	if got := h.cluster(cli.ExitDone, "apply"); !slices.Equal(got[1].Changes, []string{"1 file", "restart frontend"}) {
		t.Errorf("applied to a host with a file that was edited: %+v", got)
	}
	h.upgrade()
	if got := h.cluster(cli.ExitUsage, "remove"); len(got) > 0 {
		t.Errorf("without --yes: %+v", got)
	}
	if got := h.cluster(cli.ExitDone, "remove", "--yes"); states(got) != "removed, removed, removed" {
		t.Errorf("after the removal: %+v", got)
	}
	for i := 1; i <= 3; i++ {
		if left, err := os.ReadDir(fmt.Sprintf("%s/m%d", h.folder, i)); err == nil {
			t.Errorf("left on host m%d: %v", i, left)
		}
	}
	if got := h.cluster(cli.ExitDone, "remove", "--yes"); states(got) != "absent, absent, absent" {
		t.Errorf("after the second removal: %+v", got)
	}
}

// upgrade upgrades the hosts to another program while tasks run: each starts once.
func (h *hostsHere) upgrade() {
	h.t.Helper()
	own, err := os.Executable()
	if err != nil {
		h.t.Fatal(err)
	}
	text, err := os.ReadFile(own)
	if err != nil {
		h.t.Fatal(err)
	}
	another := filepath.Join(h.folder, "another")
	if err := os.WriteFile(another, append(text, "another"...), 0o700); err != nil { //nolint:gosec // a program
		h.t.Fatal(err)
	}
	if got := h.cluster(cli.ExitFailed, "apply", "--program", another); !strings.Contains(got[0].Error, "pigeon cluster upgrade") {
		h.t.Errorf("applied with another program: %+v", got)
	}
	starts, client := filepath.Join(h.folder, "starts"), filepath.Join(h.folder, "here-plan", "client.yaml")
	job := succeed(h.t, "submit", "--config", client, "--tasks", "60", "--class", "short", "--", "sh", "-c", "echo $PIGEON_TASK >>"+starts+"; sleep 1")
	if got := h.cluster(cli.ExitDone, "upgrade", "--program", another); states(got) != "changed, changed, changed" {
		h.t.Errorf("upgraded: %+v", got)
	}
	if got := h.cluster(cli.ExitDone, "status", "--program", another); states(got) != "as planned, as planned, as planned" {
		h.t.Errorf("after the upgrade: %+v", got)
	}
	var s api.Status
	for !s.State.Ended() {
		s = lines[api.Status](h.t, succeed(h.t, "status", "--config", client, "-o", "json", job))[0]
	}
	began, err := os.ReadFile(starts)
	if err != nil {
		h.t.Fatal(err)
	}
	all := strings.Fields(string(began))
	slices.Sort(all)
	if once := len(slices.Compact(slices.Clone(all))); s.Completed != 60 || len(all) != 60 || once != 60 {
		h.t.Errorf("%d of 60 tasks are complete; %d programs began, of %d tasks: %+v", s.Completed, len(all), once, s)
	}
}
