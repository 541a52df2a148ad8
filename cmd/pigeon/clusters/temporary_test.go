package clusters

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/experiment"
	"github.com/pigeon-sched/pigeon/internal/hosts"
)

// TestReadClock: the soonest answer counts, and the truth is within the stated bound.
func TestReadClock(t *testing.T) {
	const ahead = 3 * time.Second
	now := time.Unix(1000, 0)
	delays := []int{9, 4, 1, 7} // ms, each way there; the way back takes 1
	n := 0
	got, err := readClock(func() (time.Time, error) {
		now = now.Add(time.Duration(delays[n%len(delays)]) * time.Millisecond)
		n++
		there := now.Add(ahead)
		now = now.Add(time.Millisecond)
		return there, nil
	}, func() time.Time { return now })
	if err != nil || n != clockRounds || got != (Clock{ahead, time.Millisecond}) {
		t.Errorf("%+v after %d answers, %v", got, n, err)
	}
	if _, err := readClock(func() (time.Time, error) { return now, errors.New("gone") }, time.Now); err == nil {
		t.Error("a host that does not answer has a clock")
	}
}

// TestListening reads a table of the kernel: a listener at the host's address, on loopback or at
// every address is in the way, other addresses and connections are not.
func TestListening(t *testing.T) {
	const table = `  sl  local_address rem_address   st
   0: 0100000A:5016 00000000:0000 0A
   1: 0200000A:5017 00000000:0000 0A
   2: 0100007F:5021 00000000:0000 0A
   3: 0100000A:5018 0300000A:1234 01
   4: 00000000000000000000000000000000:1F90 00000000000000000000000000000000:0000 0A
`
	for port, want := range map[int]bool{0x5016: true, 0x5017: false, 0x5021: true, 0x5018: false, 0x1F90: true, 1: false} {
		if got := listening(table, "10.0.0.1", port); got != want {
			t.Errorf("port %x: %v", port, got)
		}
	}
}

// runOf returns the one run of a policy.
func runOf(t *testing.T, policy string) *experiment.Run {
	t.Helper()
	d := experiment.Description{Trace: "gen:ec2,jobs=2", Policies: []string{policy}, Groups: []int{4, 8}, Frontends: 1, Reserved: 0.25, Weight: 7, Cutoff: 2 * time.Second, Seed: 3, Seeds: 1}
	runs, err := d.Runs()
	if err != nil {
		t.Fatal(err)
	}
	return &runs[0]
}

// two has two groups, a standby of each kind and a setting that a run decides on.
const two = `
settings: {all: {cutoff: 9s, otlp: "127.0.0.1:4318"}}
hosts:
  - {name: m1, address: 10.0.0.1, roles: [nats, master, frontend], frontend: f}
  - {name: m2, address: 10.0.0.2, roles: [master, frontend], frontend: f}
  - {name: m3, address: 10.0.0.3, roles: [master], group: 1, prefix: /x, service_manager: none}
  - {name: n1, address: 10.0.0.4, roles: [node], slots: 4, settings: {node: {reserved: 0.5, stop_wait: 5s}}}
  - {name: n2, address: 10.0.0.5, roles: [node], slots: 8, group: 1}
`

func TestForRun(t *testing.T) {
	inv := parse(t, two)
	if groups, frontends := Sizes(inv); len(groups) != 2 || groups[0] != 4 || groups[1] != 8 || frontends != 1 {
		t.Errorf("%v, %d frontends", groups, frontends)
	}
	own, err := ForRun(inv, runOf(t, "pigeon"))
	if err != nil {
		t.Fatal(err)
	}
	if names := hostNames(own); names != "m1 m3 n1 n2" {
		t.Errorf("the hosts are %s: standbys are left out", names)
	}
	if h := own.Hosts[1]; h.Prefix != "/x"+temporaryFolder || h.ServiceManager != hosts.NoManager {
		t.Errorf("%+v", h)
	}
	all, node := own.Settings[hosts.AllRoles], own.Hosts[2].Settings["node"]
	if all["cutoff"] != "2s" || all["reserved"] != 0.25 || all["otlp"] == nil || own.Settings["master"]["weight"] != 7 || node["reserved"] != nil || node["stop_wait"] != "5s" {
		t.Errorf("settings %v, of the node %v", own.Settings, node)
	}
	p, err := Make(own, t.TempDir(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range p.Hosts {
		for _, f := range h.Files {
			if !strings.Contains(f.Path, temporaryFolder) {
				t.Errorf("host %s has %s outside the folder of the run", h.Host.Name, f.Path)
			}
		}
	}
}

// TestForRunOfOneMaster: under a policy with one master that one has all nodes.
func TestForRunOfOneMaster(t *testing.T) {
	own, err := ForRun(parse(t, two), runOf(t, "hawk"))
	if err != nil {
		t.Fatal(err)
	}
	if names := hostNames(own); names != "m1 n1 n2" || own.Hosts[2].Group != 0 {
		t.Errorf("%s, %+v", names, own.Hosts)
	}
}

func hostNames(inv *hosts.Inventory) string {
	var names []string
	for i := range inv.Hosts {
		names = append(names, inv.Hosts[i].Name)
	}
	return strings.Join(names, " ")
}

// TestAnswer: a host reports its time, and which of its daemons run.
func TestAnswer(t *testing.T) {
	var out bytes.Buffer
	before := time.Now().UnixNano()
	if err := Answer(t.Context(), strings.NewReader("clock\ndaemons\n"), &out, t.TempDir(), []string{"master=127.0.0.1:1"}); err != nil {
		t.Fatal(err)
	}
	var clock, daemons answer
	dec := json.NewDecoder(&out)
	if err := errors.Join(dec.Decode(&clock), dec.Decode(&daemons)); err != nil {
		t.Fatal(err)
	}
	if clock.Now < before || len(clock.Daemons) != 0 || len(daemons.Daemons) != 1 || daemons.Daemons[0] != (daemonAnswer{Name: "master"}) {
		t.Errorf("%+v, %+v", clock, daemons)
	}
}

// TestAnswerDaemonEnds: a daemon that ends while its host reads its use is reported as one that does
// not run, and the host reports the others; one that runs and does not answer is an error.
func TestAnswerDaemonEnds(t *testing.T) {
	run := t.TempDir()
	daemon := exec.Command("sleep", "600")
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
	end := sync.OnceFunc(func() {
		_ = daemon.Process.Kill() // Wait shows that it ended
		_ = daemon.Wait()         // by the signal
	})
	t.Cleanup(end)
	ends := false
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if ends {
			end()
		}
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	t.Cleanup(page.Close)
	for name, pid := range map[string]int{"master": daemon.Process.Pid, "nodemonitor": os.Getpid()} {
		if err := os.WriteFile(filepath.Join(run, name+".pid"), []byte(strconv.Itoa(pid)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pages := []string{"master=" + strings.TrimPrefix(page.URL, "http://"), "nodemonitor="}
	ask := func() (a answer) {
		t.Helper()
		var out bytes.Buffer
		if err := errors.Join(Answer(t.Context(), strings.NewReader("use\n"), &out, run, pages), json.NewDecoder(&out).Decode(&a)); err != nil {
			t.Fatal(err)
		}
		return a
	}
	if a := ask(); !strings.Contains(a.Error, "its master does not report") {
		t.Errorf("a master that runs and does not answer: %+v", a)
	}
	ends = true
	if a := ask(); a.Error != "" || len(a.Daemons) != 2 || a.Daemons[0] != (daemonAnswer{Name: "master"}) || a.Daemons[1].Pid != os.Getpid() {
		t.Errorf("a master that ended meanwhile: %+v", a)
	}
}
