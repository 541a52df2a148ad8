package main

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/cli"
	"github.com/pigeon-sched/pigeon/internal/measure"
)

// TestHostsRefused: a replay that cannot be run on hosts is refused before a host is contacted,
// with what is wrong and where.
func TestHostsRefused(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const master = "  - {name: m, address: 192.0.2.1, roles: [master]}\n"
	const node = "  - {name: n, address: 192.0.2.2, roles: [frontend, node], slots: 3}\n  - {name: n2, address: 192.0.2.3, roles: [node], slots: 3}\n"
	good := write("good.yaml", "hosts:\n"+master+node)
	for args, want := range map[string]string{
		"replay --hosts " + filepath.Join(dir, "absent.yaml"):                                                     "absent.yaml",
		"replay --hosts " + write("none.yaml", "hosts:\n"+master+"  - {name: n, roles: [node], slots: 1}\n"):      "no host has the role frontend",
		"replay --hosts " + good + " --workers 5":                                                                 "--workers is set with --hosts",
		"replay --hosts " + good + " --isolation process":                                                         "--isolation is not for clusters on hosts",
		"replay --hosts " + good + " --parallel 0":                                                                "--parallel is 0",
		"replay --hosts " + good + "," + good:                                                                     "name one host inventory",
		"replay --via spark --hosts " + good + " --slots 2":                                                       "does not go with --master or --slots",
		"replay --via spark --hosts " + good + ",a":                                                               "name one host inventory",
		"replay --hosts " + good + " --policy kairos:cores=2":                                                     "a multiple of 2",
		"replay --clear-hosts":                                                                                    "add --hosts INVENTORY",
		"compare --hosts " + good + " --out " + filepath.Join(dir, "out"):                                         "add --live",
		"compare --live --hosts " + good + " --policies pigeon,kairos:cores=2 --out " + filepath.Join(dir, "out"): "a multiple of 2",
	} {
		code, stdout, stderr := pigeon(t, strings.Fields(args)...)
		if code != cli.ExitUsage || stdout != "" || !strings.Contains(stderr, want) {
			t.Errorf("pigeon %s: status %d\n%s\n%s", args, code, stdout, stderr)
		}
	}
}

// left returns the folders of runs that the hosts have.
func (h *hostsHere) left() []string {
	h.t.Helper()
	found, err := filepath.Glob(filepath.Join(h.folder, "m*", "var", "lib", "pigeon-replay"))
	if err != nil {
		h.t.Fatal(err)
	}
	return found
}

// TestReplayOnHosts: a cluster is there for as long as a run takes, and for each policy of a
// comparison again; a host that another run uses, a port that is taken and a host that cannot
// be reached are named, and nothing is left.
func TestReplayOnHosts(t *testing.T) {
	if testing.Short() {
		t.Skip("left out when short: TestClusterOnHosts has the hosts, and `make hosts-test` the replays")
	}
	h := newHostsHere(t)
	t.Setenv("TMPDIR", t.TempDir())
	h.write("")
	workload := []string{"--hosts", h.inventory, "--trace", "gen:ec2,jobs=20", "--speedup", "20", "-o", "json"}
	history := filepath.Join(h.folder, "history.jsonl")
	refused := func(what, want string, more ...string) {
		t.Helper()
		code, stdout, stderr := h.run(slices.Concat([]string{"replay"}, workload, more)...)
		if code != cli.ExitFailed || stdout != "" || !strings.Contains(stderr, want) {
			t.Errorf("%s: status %d\n%s\n%s", what, code, stdout, stderr)
		}
	}

	taken := filepath.Join(h.folder, "m2", "var", "lib", "pigeon-replay")
	if err := os.MkdirAll(taken, 0o755); err != nil {
		t.Fatal(err)
	}
	refused("another run's folder", `host "m2": it has the folder `+taken+" of another run")
	if got := h.left(); !slices.Equal(got, []string{taken}) {
		t.Errorf("left: %v", got)
	}
	code, stdout, stderr := h.run(slices.Concat([]string{"replay", "--clear-hosts", "--history", history}, workload)...)
	if code != cli.ExitDone {
		t.Fatalf("status %d\n%s", code, stderr)
	}
	r := lines[measure.Result](t, stdout)[0]
	// So short a run may take less processor time than a tick of the kernel: 0, and not NaN.
	if r.Completed != 20 || r.Workers != 12 || len(r.Hosts) != 3 || !(r.MessagesPerTask > 0) || !(r.CPUPerTask >= 0) || !(r.All.Queueing.P99 > 0) {
		t.Errorf("%+v", r)
	}
	if s, err := os.Stat(history); err != nil || s.Size() == 0 {
		t.Errorf("the joined history: %v", err)
	}

	listener, err := net.Listen("tcp", h.network+"1:20502")
	if err != nil {
		t.Fatal(err)
	}
	refused("a port in use", `host "m1": port 20502 is in use`)
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr = h.run(slices.Concat([]string{"compare", "--live", "--policies", "pigeon,hawk", "--out", filepath.Join(h.folder, "out")}, workload)...)
	if code != cli.ExitDone || strings.Count(stdout, `"mode":"live"`) != 2 || strings.Count(stdout, `"host":"m3"`) != 2 {
		t.Errorf("compare: status %d\n%s\n%s", code, stdout, stderr)
	}
	h.write("  - {name: gone, address: " + h.network + "9, ssh: gone, roles: [node], slots: 1}\n")
	refused("a host that cannot be reached", `host "gone"`)
	here, err := os.ReadDir(os.TempDir())
	if got := h.left(); len(got) > 0 || err != nil || len(here) > 0 {
		t.Errorf("left on the hosts: %v; left here: %v, %v", got, here, err)
	}
}

// TestReplayViaSparkOnHosts: Spark applications are started on the hosts of the frontends in turn, by
// the Spark there, with their hosts' addresses and what a cluster with certificates asks for; after
// that nothing is left.
func TestReplayViaSparkOnHosts(t *testing.T) {
	if testing.Short() {
		t.Skip("left out when short: `make hosts-test` replays on hosts")
	}
	u := withSpark(t, replayDriver)
	h := newHostsHere(t)
	t.Setenv("TMPDIR", t.TempDir())
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	h.write("")
	for _, security := range []string{"insecure", "tls"} {
		text, err := os.ReadFile(h.inventory)
		if err == nil {
			err = os.WriteFile(h.inventory, bytes.Replace(text, []byte("security: insecure"), []byte("security: "+security), 1), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		code, stdout, stderr := h.run("replay", "--via", "spark", "--drivers", "2", "--hosts", h.inventory, "--host-pigeon", program, "--host-spark", u.home,
			"--trace", "gen:ec2,jobs=20", "--speedup", "20", "-o", "json")
		if code != cli.ExitDone {
			t.Fatalf("%s: status %d\n%s", security, code, stderr)
		}
		r := lines[measure.Result](t, stdout)[0]
		if r.Completed != 20 || r.Workers != 12 || len(r.Hosts) != 3 || !(r.CPUPerTask > 0) {
			t.Errorf("%s: %+v", security, r)
		}
		drivers := u.started(t)
		slices.Sort(drivers)
		if len(drivers) != 2 {
			t.Fatalf("%s: the drivers are %q", security, drivers)
		}
		for i, line := range drivers {
			for _, want := range []string{fmt.Sprintf("replay, driver %d of 2", i), fmt.Sprintf("spark.driver.host=%s%d", h.network, i+1), fmt.Sprintf("://%s%d:20503,", h.network, i+1), "--executors 3"} {
				if !strings.Contains(line, want) {
					t.Errorf("%s: driver %d is started without %q: %s", security, i, want, line)
				}
			}
			token := fmt.Sprintf("spark.pigeon.token.file=%s/m%d/var/lib/pigeon-replay/run/pigeon/replay.token", h.folder, i+1)
			if strings.Contains(line, token) != (security == "tls") {
				t.Errorf("%s: driver %d is started by %s", security, i, line)
			}
		}
		if err := os.Remove(filepath.Join(u.home, "drivers")); err != nil {
			t.Fatal(err)
		}
		here, err := os.ReadDir(os.TempDir())
		if got := h.left(); len(got) > 0 || err != nil || len(here) > 0 {
			t.Errorf("%s: left on the hosts: %v; left here: %v, %v", security, got, here, err)
		}
	}
}
