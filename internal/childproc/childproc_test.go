package childproc

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/pigeon-sched/pigeon/internal/await"
)

// parentVariable makes this test program start a process, report its number and those
// of its children, and be killed.
const parentVariable = "PIGEON_TEST_CHILDPROC_PARENT"

func TestMain(m *testing.M) {
	if watchdog, parent := os.LookupEnv(parentVariable); parent {
		c := Command{Name: "child", Argv: []string{"sh", "-c", "sleep 600 & echo $$ $!; wait"}, Stdout: os.Stdout, Watchdog: watchdog == "watchdog"}
		if _, err := NewGroup().Start(c); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		select {}
	}
	goleak.VerifyTestMain(m)
}

// group returns a group that is closed at the end of the test.
func group(t *testing.T) *Group {
	t.Helper()
	g := NewGroup()
	t.Cleanup(func() { g.Close(10 * time.Second) })
	return g
}

func start(t *testing.T, g *Group, script string) *Process {
	t.Helper()
	p, err := g.Start(Command{Name: "script", Argv: []string{"sh", "-c", script}, Log: filepath.Join(t.TempDir(), "log")})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func bounded(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// awaitEnd waits until a process that is no child of this one has ended.
func awaitEnd(t *testing.T, pid string) {
	t.Helper()
	var state []byte
	await.Until(t, "process "+pid+" has ended", func() (ended bool) {
		var err error
		state, err = os.ReadFile("/proc/" + pid + "/stat")
		return err != nil || strings.Contains(string(state), ") Z ")
	}, func() string { return string(state) })
}

func TestProcessThatEnds(t *testing.T) {
	p := start(t, group(t), "echo out; echo why >&2; exit 3")
	if err := p.Err(); err == nil || p.Status() != 3 || p.Running() {
		t.Errorf("status %d, %v, running %t", p.Status(), err, p.Running())
	}
	err := p.Failure()
	for _, word := range []string{"script ended by itself", "exit status 3", "ends:\n  out\n  why"} {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%v does not contain %q", err, word)
		}
	}
	if err := p.Signal(syscall.SIGTERM); err != nil {
		t.Errorf("a signal to a process that has ended: %v", err)
	}
}

func TestProcessWithoutALog(t *testing.T) {
	p, err := group(t).Start(Command{Name: "it", Argv: []string{"sh", "-c", "echo why >&2"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Failure(); !errors.Is(err, ErrUnasked) || !strings.HasSuffix(err.Error(), "its log ends:\n  why") {
		t.Error(err)
	}
}

func TestProcessThatCannotStart(t *testing.T) {
	g := group(t)
	if _, err := g.Start(Command{Name: "it", Argv: []string{"/nonesuch"}}); err == nil || !strings.Contains(err.Error(), "it was not started") {
		t.Error(err)
	}
	if _, err := g.Start(Command{Name: "it", Argv: []string{"true"}, Log: "/nonesuch/log"}); err == nil || !strings.Contains(err.Error(), "/nonesuch/log") {
		t.Error(err)
	}
}

func TestAwaitLog(t *testing.T) {
	g := group(t)
	listening := regexp.MustCompile(`listening on (\S+)`)
	if address, err := start(t, g, "echo listening on a:1; sleep 600").AwaitLog(bounded(t), listening); err != nil || address != "a:1" {
		t.Errorf("%q, %v", address, err)
	}
	if _, err := start(t, g, "echo no").AwaitLog(bounded(t), listening); err == nil || !strings.Contains(err.Error(), "ended by itself") {
		t.Errorf("of a process that has ended: %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("it took too long"))
	if _, err := start(t, g, "sleep 600").AwaitLog(ctx, listening); err == nil || !strings.Contains(err.Error(), "it took too long") {
		t.Errorf("of a silent process: %v", err)
	}
}

// TestStop: the process has the time to end by itself; its children, and a process
// that ignores the signal, are killed.
func TestStop(t *testing.T) {
	g := group(t)
	for _, c := range []struct {
		script string
		within time.Duration
		status int
	}{
		{`trap 'kill -9 $!; exit 0' TERM; sleep 600 & echo $!; wait`, time.Minute, 0},
		{`sleep 600 & echo $!; wait`, time.Minute, 128 + int(syscall.SIGTERM)},
		{`trap '' TERM; sleep 600 & echo $!; wait`, 10 * time.Millisecond, 128 + int(syscall.SIGKILL)},
	} {
		p := start(t, g, c.script)
		child, err := p.AwaitLog(bounded(t), regexp.MustCompile(`\d+\n`))
		if err != nil {
			t.Fatal(err)
		}
		p.Stop(c.within)
		if p.Status() != c.status {
			t.Errorf("%s: status %d, want %d", c.script, p.Status(), c.status)
		}
		awaitEnd(t, strings.TrimSpace(child))
	}
}

// TestCloseStopsAll: no process and no goroutine of a group is left.
func TestCloseStopsAll(t *testing.T) {
	g := NewGroup()
	var all []*Process
	for range 3 {
		all = append(all, start(t, g, "sleep 600"))
	}
	g.Close(time.Minute)
	for i, p := range all {
		if p.Running() {
			t.Errorf("process %d runs", i)
		}
	}
}

// TestProcessesEndWithTheProgram: a process is killed with the program that started
// it; with a watchdog so is what the process has started.
func TestProcessesEndWithTheProgram(t *testing.T) {
	for _, watchdog := range []string{"", "watchdog"} {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), parentVariable+"="+watchdog)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		line, err := bufio.NewReader(out).ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // it was killed
		pids := strings.Fields(line)
		awaitEnd(t, pids[0])
		if watchdog != "" {
			awaitEnd(t, pids[1])
			continue
		}
		var pid int
		fmt.Sscan(pids[1], &pid)
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

func TestUsage(t *testing.T) {
	p := start(t, group(t), "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; echo done; exec sleep 600")
	if _, err := p.AwaitLog(bounded(t), regexp.MustCompile("done")); err != nil {
		t.Fatal(err)
	}
	running, err := p.Usage()
	if err != nil {
		t.Fatal(err)
	}
	p.Stop(time.Minute)
	ended, err := p.Usage()
	if err != nil || ended.CPU <= 0 || ended.RSSMax <= 0 || ended.CPU < running.CPU-clockTick {
		t.Errorf("%+v while it ran, %+v at its end, %v", running, ended, err)
	}
	if both := (Usage{CPU: 1, RSSMax: 5}).Then(Usage{CPU: 2, RSSMax: 3}); both != (Usage{CPU: 3, RSSMax: 5}) {
		t.Errorf("%+v", both)
	}
	if own, err := OwnUsage(); err != nil || own.CPU <= 0 || own.RSSMax <= 0 {
		t.Errorf("%+v, %v", own, err)
	}
}

func TestTail(t *testing.T) {
	short := &Tail{}
	fmt.Fprint(short, "one\ntwo\n")
	if got := short.String(); got != "one\ntwo" {
		t.Errorf("%q", got)
	}
	long := &Tail{}
	for i := range 100_000 {
		fmt.Fprintln(long, "line", i)
	}
	lines := strings.Split(long.String(), "\n")
	if len(lines) != tailLines || lines[tailLines-1] != "line 99999" || len(long.kept) > tailBytes {
		t.Errorf("%d lines, %q", len(lines), lines)
	}
}
