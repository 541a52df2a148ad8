package main

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/await"
	"github.com/pigeon-sched/pigeon/internal/cli"
)

// signal sends the process a signal.
func (p *process) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

// spawnCluster starts a master and a frontend as processes, at which the verbs of the test
// look. node starts a node of one slot.
func spawnCluster(t *testing.T) (node func(id string, flags ...string) *process) {
	t.Helper()
	common := []string{"--nats", "", "--http", ""}
	m := spawn(t, slices.Concat([]string{"master", "--listen", "127.0.0.1:0", "--reserved", "0"}, common)...)
	at := m.line.Addresses["daemons"]
	f := spawn(t, slices.Concat([]string{"frontend", "--masters", at, "--data", t.TempDir(), "--listen", "127.0.0.1:0", "--internal-listen", "127.0.0.1:0"}, common)...)
	t.Setenv("PIGEON_FRONTEND", f.line.Addresses["applications"])
	return func(id string, flags ...string) *process {
		return spawn(t, slices.Concat([]string{
			"nodemonitor", "--id", id, "--master", at, "--slots", "1", "--work-dir", t.TempDir(), "--restart-grace", "0s",
			"--listen", "127.0.0.1:0", "--internal-listen", "127.0.0.1:0",
		}, common, flags)...)
	}
}

// A node monitor that gets SIGTERM takes nothing new, waits for running tasks up to stop_wait
// or a second signal, and gives the rest back: they run elsewhere, and no loss is counted. Its
// exit status is 0.
func TestStopWait(t *testing.T) {
	node := spawnCluster(t)
	for i, c := range []struct {
		name, wait string
		meanwhile  func(*process, *gatedJob) // nil: nothing happens before it is over
		attempts   int
	}{
		{"the task ends in time", "1h", func(_ *process, j *gatedJob) {
			if elsewhere := submitGated(t); elsewhere.awaitStart(1) == j.awaitStart(1) {
				t.Error("a node that stops has taken a task")
			} else {
				elsewhere.open()
				elsewhere.awaitEnd(1)
			}
			j.open()
		}, 1},
		{"the wait is over", "10ms", nil, 2},
		{"there is none", "0s", nil, 2},
		{"a second signal", "1h", func(p *process, _ *gatedJob) { p.signal(t, syscall.SIGTERM) }, 2},
		{"Ctrl-C, then SIGTERM", "1h", func(p *process, _ *gatedJob) { p.signal(t, syscall.SIGINT) }, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			name := fmt.Sprint("stopped-", i)
			p := node(name, "--stop-wait", c.wait)
			j := submitGated(t)
			other := node(fmt.Sprint("other-", i))
			p.signal(t, syscall.SIGTERM)
			if c.meanwhile != nil {
				awaitShown(t, name, api.StateDraining)
				c.meanwhile(p, j)
			}
			if err := p.wait(); err != nil {
				t.Errorf("the node monitor ended with %v\n%s", err, p.errs)
			}
			if c.attempts == 2 && j.awaitStart(2) == name {
				t.Errorf("it started again at the node that stopped: %v", j.starts())
			}
			j.open()
			j.awaitEnd(c.attempts)
			if n := shownNode(t, name); n.State != api.StateStopped || n.Reason != "its node monitor was stopped in order" {
				t.Errorf("it is shown as %+v", n)
			}
			other.end(t)
		})
	}
	testForget(t, "stopped-0", "stopped-4")
}

// testForget: nodes that were stopped take no orders, and are shown until they are forgotten.
func testForget(t *testing.T, first, last string) {
	for _, verb := range []string{"drain", "resume"} {
		code, out, errs := program(t, "node", verb, first)
		if want := fmt.Sprintf("node %q: it is stopped: its node monitor was stopped in order", first); code != cli.ExitFailed || out != "" || !strings.Contains(errs, want) || !strings.Contains(errs, "start its node monitor") {
			t.Errorf("%s: status %d, %s%s", verb, code, out, errs)
		}
	}
	await.Until(t, "the node that stopped last is forgotten", func() bool {
		code, out, errs := program(t, "node", "forget", last)
		if early := "try again; 2s after its last heartbeat the node can be forgotten"; code == cli.ExitFailed && !strings.Contains(errs, early) {
			t.Fatal(errs)
		}
		return code == cli.ExitDone && out == last+" is not shown any more\n"
	})
	code, out, errs := program(t, "node", "forget", last, first, "-o", "json")
	if code != cli.ExitFailed || out != fmt.Sprintf(`{"node":%q,"groups":[0]}`+"\n", first) || !strings.Contains(errs, fmt.Sprintf("node %q: no master knows it", last)) {
		t.Errorf("one that is forgotten and one that is not: status %d, %s%s", code, out, errs)
	}
	for _, name := range []string{first, last} {
		if n := shownNode(t, name); n.ID != "" {
			t.Errorf("forgotten, and shown: %+v", n)
		}
	}
}

// A command that waits for a drain ends when the node stops meanwhile, and the drain
// continues when the node is started again.
func TestDrainOfNodeThatStops(t *testing.T) {
	node, folder := spawnCluster(t), t.TempDir()
	flags := []string{"--stop-wait", "0s", "--work-dir", folder}
	p := node("n", flags...)
	j := submitGated(t)
	f := followVerb(t, "node", "drain", "n", "--wait")
	f.await(t, &f.errs, "n: 1 running")
	p.end(t)
	code, errs := f.status(t), strings.Join(f.errs, "\n")
	if want := `pigeon: node "n": it is stopped: its node monitor was stopped in order (while waiting until it is drained)`; code != cli.ExitFailed || len(f.out) > 0 || !strings.Contains(errs, want) {
		t.Errorf("status %d, %v, %s", code, f.out, errs)
	}
	node("n", flags...)
	awaitShown(t, "n", api.StateDrained)
	succeed(t, "node", "resume", "n")
	j.awaitStart(2)
	j.open()
	j.awaitEnd(2)
}

// A wait that cannot be meant is refused before anything starts.
func TestStopWaitSetting(t *testing.T) {
	for _, c := range []struct {
		wait string
		code int
	}{{"0s", cli.ExitDone}, {"24h", cli.ExitDone}, {"-1s", cli.ExitUsage}, {"24h1s", cli.ExitUsage}, {"long", cli.ExitUsage}} {
		code, _, errs := program(t, "config", "show", "nodemonitor", "--stop-wait", c.wait)
		if refused := strings.Contains(errs, "stop"); code != c.code || refused != (c.code == cli.ExitUsage) {
			t.Errorf("stop_wait %s: status %d, %s", c.wait, code, errs)
		}
	}
}

// A node that stops cannot be resumed, whether it drained before or not: it would take tasks and
// give them back.
func TestResumeOfNodeThatStops(t *testing.T) {
	p := spawnCluster(t)("n", "--stop-wait", "1h")
	j := submitGated(t)
	for _, drained := range []bool{false, true} {
		if drained {
			succeed(t, "node", "drain", "n")
		} else {
			p.signal(t, syscall.SIGTERM)
			awaitShown(t, "n", api.StateDraining)
		}
		if n := shownNode(t, "n"); n.Reason != "its node monitor is stopping; it takes nothing new, and what runs there ends" {
			t.Errorf("drained %t: it is shown as %+v", drained, n)
		}
		code, out, errs := program(t, "node", "resume", "n")
		if code != cli.ExitFailed || out != "" || !strings.Contains(errs, "its node monitor is stopping") || !strings.Contains(errs, "start its node monitor again") {
			t.Errorf("drained %t: status %d, %s%s", drained, code, out, errs)
		}
	}
	j.open()
	j.awaitEnd(1)
	if err := p.wait(); err != nil {
		t.Errorf("the node monitor ended with %v\n%s", err, p.errs)
	}
}
