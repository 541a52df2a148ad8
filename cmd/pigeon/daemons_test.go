package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/pigeon-sched/pigeon/cmd/pigeon/daemons"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/cli"
)

// process is a daemon in its own process.
type process struct {
	cmd  *exec.Cmd
	line daemons.Line
	errs *bytes.Buffer // to be read when the process has ended
	wait func() error
}

// spawn starts this program as a process and waits until it is ready.
func spawn(t *testing.T, args ...string) *process {
	t.Helper()
	p := &process{cmd: exec.Command(os.Args[0], append(args, "-o", "json")...), errs: &bytes.Buffer{}}
	p.cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "PIGEON_") })
	p.cmd.Dir = t.TempDir()
	p.cmd.Stderr = p.errs
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	first, err := bufio.NewReader(out).ReadString('\n')
	p.wait = sync.OnceValue(p.cmd.Wait)
	t.Cleanup(func() { _ = p.cmd.Process.Kill(); _ = p.wait() }) // mostly gone already
	if err != nil {
		t.Fatalf("%v ended before it was ready: %v %s", args, p.wait(), p.errs)
	}
	p.line = lines[daemons.Line](t, first)[0]
	return p
}

// end asks the process to end; it must do so with exit status 0.
func (p *process) end(t *testing.T) {
	t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	if err := p.wait(); err != nil {
		t.Errorf("%s %s: %v\n%s", p.line.Role, p.line.ID, err, p.errs)
	}
}

// TestLocalCluster: the files of configs/local make a cluster of processes that
// runs jobs, also after its NATS server was killed. Only addresses and folders
// are others, so that the test disturbs no other.
func TestLocalCluster(t *testing.T) {
	t.Parallel()
	file := func(name string) string {
		path, err := filepath.Abs(filepath.Join("..", "..", "configs", "local", name+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	nats := spawn(t, "nats", "--listen", "127.0.0.1:0")
	common := []string{"--nats", nats.line.Addresses["nats"], "--http", ""}
	daemon := func(verb, name string, args ...string) *process {
		return spawn(t, slices.Concat([]string{verb, "--config", file(name)}, common, args)...)
	}
	var masters, nodes, frontends []*process
	var at []string
	for _, name := range []string{"master-0", "master-1"} {
		masters = append(masters, daemon("master", name, "--listen", "127.0.0.1:0"))
		at = append(at, masters[len(masters)-1].line.Addresses["daemons"])
	}
	for i, name := range []string{"node-0", "node-1", "node-2", "node-3"} {
		nodes = append(nodes, daemon("nodemonitor", name, "--master", at[i/2], "--listen", "127.0.0.1:0", "--internal-listen", "127.0.0.1:0"))
	}
	var serve []string
	for _, name := range []string{"frontend-0", "frontend-1"} {
		frontends = append(frontends, daemon("frontend", name, "--masters", strings.Join(at, ","), "--listen", "127.0.0.1:0", "--internal-listen", "127.0.0.1:0"))
		serve = append(serve, frontends[len(frontends)-1].line.Addresses["applications"])
	}
	cluster := []string{"--frontend", strings.Join(serve, ",")}
	verb := func(name string, args ...string) string {
		return succeed(t, slices.Concat([]string{name}, cluster, args)...)
	}

	slots, reserved := 0, 0
	for _, n := range lines[api.Node](t, verb("nodes", "-o", "json")) {
		slots, reserved = slots+n.Slots, reserved+n.Reserved
	}
	if slots != 16 || reserved != 0 {
		t.Errorf("%d slots, %d reserved; want 16, and none under pigeon-x", slots, reserved)
	}
	for _, frontend := range serve {
		if got := succeed(t, "run", "--frontend", frontend, "--", "echo", "hello"); got != "hello" {
			t.Errorf("%q at %s", got, frontend)
		}
	}
	if err := nats.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if got := nats.wait(); got == nil {
		t.Error("the NATS server was killed and its exit status is 0")
	}
	if out := verb("submit", "--tasks", "40", "--sleep", "1ms", "--wait", "-o", "json"); lines[api.Status](t, out)[1].Completed != 40 {
		t.Errorf("without NATS: %s", out)
	}
	for _, p := range slices.Concat(nodes, frontends, masters) {
		p.end(t)
	}
}

// TestShippedConfiguration: every file below configs/ is good.
func TestShippedConfiguration(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", "configs", "*", "*.yaml"))
	if err != nil || len(files) < 12 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		role, _, _ := strings.Cut(strings.TrimSuffix(filepath.Base(file), ".yaml"), "-")
		if role == "node" {
			role = "nodemonitor"
		}
		succeed(t, "config", "check", role, file)
	}
}

// TestDaemonsRefuse: settings that cannot work are reported before, or instead of, serving.
func TestDaemonsRefuse(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	misspelt := filepath.Join(dir, "misspelt.yaml")
	if err := os.WriteFile(misspelt, []byte("lisetn: \"127.0.0.1:0\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }() // no test reads from it
	port := taken.Addr().String()
	frontend := "frontend --listen 127.0.0.1:0 --internal-listen 127.0.0.1:0 --http= --data " + dir + "/journal"
	node := "nodemonitor --listen 127.0.0.1:0 --internal-listen 127.0.0.1:0 --http= --work-dir " + dir + "/work"
	for _, c := range []struct {
		args string
		code int
		want []string
	}{
		{"frontend --config " + misspelt, cli.ExitUsage, []string{`"lisetn"`, `"listen"`, "line 1"}},
		{"master --config " + misspelt, cli.ExitUsage, []string{`"lisetn"`, `"listen"`}},
		{"nodemonitor --config " + misspelt, cli.ExitUsage, []string{`"lisetn"`, `"listen"`}},
		{frontend + " --listen " + port, cli.ExitFailed, []string{port, "in use"}},
		{frontend + " --internal-listen " + port, cli.ExitFailed, []string{port, "in use"}},
		{frontend + " --http " + port, cli.ExitFailed, []string{port, "in use"}},
		{"master --http= --listen " + port, cli.ExitFailed, []string{port, "in use"}},
		{node + " --listen " + port, cli.ExitFailed, []string{port, "in use"}},
		{"nats --listen " + port, cli.ExitFailed, []string{port, "in use"}},
		{frontend + " --policy pigoen", cli.ExitUsage, []string{`"policy"`, "pigoen", "pigeon"}},
		{frontend + " --masters nowhere", cli.ExitUsage, []string{`"masters"`, "flag --masters", "host:port"}},
		{"master --reserved 1.5", cli.ExitUsage, []string{`"reserved"`, "1.5", "0 to below 1"}},
		{"master --log-level loud", cli.ExitUsage, []string{"loud"}},
		{node + " --id a/b", cli.ExitUsage, []string{`"id"`, "a/b"}},
	} {
		code, out, errs := program(t, strings.Fields(c.args)...)
		if code != c.code || out != "" {
			t.Errorf("pigeon %s: status %d, stdout %q", c.args, code, out)
		}
		for _, want := range c.want {
			if !strings.Contains(errs, want) {
				t.Errorf("pigeon %s does not print %q: %s", c.args, want, errs)
			}
		}
	}

	start(t, append(strings.Fields(frontend), "-o", "json", "--log-level", "error")...)
	if code, _, errs := program(t, strings.Fields(frontend+" --id other")...); code != cli.ExitFailed || !strings.Contains(errs, dir+"/journal") {
		t.Errorf("a locked journal: status %d, %s", code, errs)
	}
}

// TestTwoNodesWithOneID: the second is refused, and the first continues.
func TestTwoNodesWithOneID(t *testing.T) {
	t.Parallel()
	master := start(t, "master", "--listen", "127.0.0.1:0", "--http=", "--log-level", "error", "-o", "json")
	at := lines[daemons.Line](t, master.first)[0].Addresses["daemons"]
	node := func() []string {
		return []string{"nodemonitor", "--id", "twin", "--master", at, "--listen", "127.0.0.1:0", "--internal-listen", "127.0.0.1:0", "--http=", "--work-dir", t.TempDir()}
	}
	start(t, append(node(), "--log-level", "error", "-o", "json")...)

	ctx, cancel := context.WithCancel(t.Context())
	r, w := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		ended <- run(ctx, node(), strings.NewReader(""), w, w)
		_ = w.Close() // never fails
	}()
	output := bufio.NewReader(r)
	for found := false; !found; {
		line, err := output.ReadString('\n')
		if err != nil || strings.Contains(line, "is ready") {
			t.Fatalf("the second node printed %q: %v", line, err)
		}
		found = strings.Contains(line, "registered in group 0 and alive") && strings.Contains(line, "another id")
	}
	cancel()
	_, _ = io.Copy(io.Discard, output) // the pipe's own error is its end
	if code := <-ended; code != cli.ExitDone {
		t.Errorf("the second node: status %d", code)
	}

	front := start(t, "frontend", "--masters", at, "--listen", "127.0.0.1:0", "--internal-listen", "127.0.0.1:0", "--http=", "--data", t.TempDir(), "--log-level", "error", "-o", "json")
	serve := lines[daemons.Line](t, front.first)[0].Addresses["applications"]
	if got := succeed(t, "run", "--frontend", serve, "--", "echo", "still here"); got != "still here" {
		t.Errorf("the first node: %q", got)
	}
}
