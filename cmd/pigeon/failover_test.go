package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/cmd/pigeon/jobs"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/await"
	"github.com/pigeon-sched/pigeon/internal/cli"
	"github.com/pigeon-sched/pigeon/internal/daemontest"
)

// The frontend is killed while programs run, returns, and is killed again when they have
// ended: clients that follow them see all that they write, once, and how they end.
func TestClientsGoOnThroughTheDeathOfTheirFrontend(t *testing.T) {
	t.Parallel()
	m := spawn(t, "master", "--listen", "127.0.0.1:0", "--http", "")
	spawn(t, "nodemonitor", "--work-dir", t.TempDir(), "--master", m.line.Addresses["daemons"], "--slots", "8", "--listen", "127.0.0.1:0", "--internal-listen", "127.0.0.1:0", "--http", "")
	data := t.TempDir()
	front := func(name, listen, internal string) *process {
		return spawn(t, "frontend", "--id", name, "--masters", m.line.Addresses["daemons"], "--data", filepath.Join(data, name), "--listen", listen, "--internal-listen", internal, "--http", "")
	}
	f0, f1 := front("f0", "127.0.0.1:0", "127.0.0.1:0"), front("f1", "127.0.0.1:0", "127.0.0.1:0")
	at, internal := f0.line.Addresses["applications"], f0.line.Addresses["daemons"]
	both := []string{"--frontend", at + "," + f1.line.Addresses["applications"]}
	kill := func() {
		if err := f0.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = f0.wait() // it was killed
	}

	gates := t.TempDir()
	gate := func(name string) string { return filepath.Join(gates, name) }
	script := "i=0; while ! [ -e " + gate("end") + " ]; do i=$((i+1)); echo line $i; [ $i -lt 3 ] || while ! [ -e " + gate("more") + " -o -e " + gate("end") + " ]; do sleep 0.02; done; sleep 0.02; done; touch " + gate("$PIGEON_JOB") + "; echo last; exit 7"
	type follower struct {
		args      []string
		code      int
		out, errs daemontest.Text
		ended     chan int
	}
	program := []string{"--", "sh", "-c", script}
	job := succeed(t, append([]string{"submit", "--frontend", at, "--key", "watched"}, program...)...)
	followers := map[string]*follower{
		"run, one frontend": {args: slices.Concat([]string{"run", "--frontend", at}, program), code: 7},
		"run, own key":      {args: slices.Concat([]string{"run"}, both, []string{"--key", "1"}, program), code: 7}, // it leads to f0
		"submit --wait":     {args: slices.Concat([]string{"submit", "--frontend", at, "--wait"}, program), code: cli.ExitFailed},
		"logs -f":           {args: slices.Concat([]string{"logs", "-f", job}, both), code: cli.ExitFailed},
	}
	for _, f := range followers {
		f.ended = make(chan int, 1)
		go func() { f.ended <- run(context.Background(), f.args, strings.NewReader(""), &f.out, &f.errs) }()
	}
	for name, f := range followers {
		await.Until(t, name+" is under way", func() bool {
			return strings.Contains(f.out.String(), "line 3\n") || name == "submit --wait" && f.out.String() != ""
		})
	}
	if len(lines[api.Status](t, succeed(t, "status", "--frontend", at, "-o", "json"))) != len(followers) {
		t.Errorf("jobs: %s", succeed(t, "status", "--frontend", at))
	}
	kill()
	for name, f := range followers {
		await.Until(t, name+" says that it waits", func() bool { return strings.Contains(f.errs.String(), at+" does not answer; job ") })
	}
	for _, g := range []string{"more", "end"} {
		if err := os.WriteFile(gate(g), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	await.Until(t, "the programs end while no process listens", func() bool {
		list, err := os.ReadDir(gates)
		return err == nil && len(list) == 2+len(followers)
	})
	f0 = front("f0", at, internal)
	for name, f := range followers {
		if code := <-f.ended; code != f.code {
			t.Errorf("%s: status %d, %s", name, code, f.errs.String())
		}
		if !strings.Contains(f.errs.String(), at+" answers") {
			t.Errorf("%s printed %q", name, f.errs.String())
		}
		out := strings.Split(strings.TrimSuffix(f.out.String(), "\n"), "\n")
		if name == "submit --wait" {
			continue
		}
		for i, line := range out {
			want := fmt.Sprint("line ", i+1)
			if i == len(out)-1 {
				want = "last"
			}
			if line != want {
				t.Errorf("%s: line %d of %d is %q, want %q", name, i, len(out), line, want)
			}
		}
	}
	if n := len(lines[api.Status](t, succeed(t, append([]string{"status", "-o", "json"}, both...)...))); n != len(followers) {
		t.Errorf("%d jobs of %d submissions", n, len(followers))
	}

	// Once more, when all have ended: the journal records which task ran where.
	kill()
	f0 = front("f0", at, internal)
	if out := succeed(t, append([]string{"logs", job}, both...)...); !strings.HasSuffix(out, "last") {
		t.Errorf("logs after another restart: %q", out)
	}
	if out := succeed(t, append([]string{"explain", job, "-o", "json"}, both...)...); !strings.Contains(out, `"exit":7`) {
		t.Errorf("explain after another restart: %s", out)
	}
}

// The machine of a frontend is gone for good: its standby, at another address, continues its
// job, and a client that follows the job sees all that it writes, once, and how it ends. Its
// key is the same job at every frontend.
func TestClientsFollowATakeover(t *testing.T) {
	t.Parallel()
	nats := spawn(t, "nats", "--listen", "127.0.0.1:0", "--jetstream", "--name", "n1", "--store-dir", t.TempDir())
	url := nats.line.Addresses["nats"]
	m := spawn(t, "master", "--listen", "127.0.0.1:0", "--http", "", "--nats", url)
	spawn(t, "nodemonitor", "--nats", url, "--work-dir", t.TempDir(), "--master", m.line.Addresses["daemons"], "--slots", "4", "--listen", "127.0.0.1:0", "--internal-listen", "127.0.0.1:0", "--http", "")
	front := func(name string) *process {
		return spawn(t, "frontend", "--id", name, "--masters", m.line.Addresses["daemons"], "--data", t.TempDir(), "--listen", "127.0.0.1:0", "--internal-listen", "127.0.0.1:0", "--http", "",
			"--nats", url, "--journal", "replicated", "--leadership", "jetstream", "--leader-ttl", "10s", "--nats-replicas", "1")
	}
	leader := front("f")
	standby, other := front("f"), front("g")
	at := func(p *process) string { return p.line.Addresses["applications"] }
	all := strings.Join([]string{at(standby), at(leader), at(other)}, ",")

	gates := t.TempDir()
	gate := filepath.Join(gates, "gate")
	script := "for i in 1 2 3 4 5 6 7 8 9; do echo line $i; [ $i -ne 3 ] || while ! [ -e " + gate + " ]; do sleep 0.02; done; done; touch " + filepath.Join(gates, "ended") + "; exit 7"
	var out, errs daemontest.Text
	ended := make(chan int, 1)
	// The key leads to the standby, which names the leader.
	go func() {
		ended <- run(context.Background(), []string{"run", "-n", "--frontend", all, "--key", "5", "--", "sh", "-c", script}, strings.NewReader(""), &out, &errs)
	}()
	await.Until(t, "the program writes", func() bool { return strings.HasSuffix(out.String(), "line 3\n") })
	if err := leader.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = leader.wait() // it was killed
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if code := <-ended; code != 7 {
		t.Errorf("status %d, %s", code, errs.String())
	}
	if got := strings.Count(out.String(), "line "); got != 9 || !strings.HasSuffix(out.String(), "line 9\n") {
		t.Errorf("it wrote %q; %s; %s", out.String(), errs.String(), succeed(t, "explain", "5", "--frontend", all, "-o", "json"))
	}
	// The other frontend, asked alone, names the one that has taken the job over.
	job := lines[jobs.SubmitLine](t, succeed(t, "submit", "--frontend", at(other), "--key", "5", "-o", "json", "--", "sh", "-c", script))[0]
	if !job.Duplicate || job.Frontend != at(standby) {
		t.Errorf("its key again: %+v", job)
	}
}
