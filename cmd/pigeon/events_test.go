package main

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/await"
	"github.com/pigeon-sched/pigeon/internal/cli"
)

// followed is a verb that runs until it has nothing more to print, in its own process.
type followed struct {
	cmd     *exec.Cmd
	readers sync.WaitGroup
	wait    func() error // when all that it printed was read

	mu        sync.Mutex
	out, errs []string // lines; guarded by mu
}

// followVerb starts the process and reads what it prints.
func followVerb(t *testing.T, args ...string) *followed {
	t.Helper()
	f := &followed{cmd: exec.Command(os.Args[0], args...)}
	f.cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "PIGEON_") && !strings.HasPrefix(v, "PIGEON_FRONTEND=")
	})
	out, err := f.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	errs, err := f.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := f.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	f.readers.Go(func() { f.read(bufio.NewScanner(out), &f.out) })
	f.readers.Go(func() { f.read(bufio.NewScanner(errs), &f.errs) })
	f.wait = sync.OnceValue(func() error { f.readers.Wait(); return f.cmd.Wait() })
	t.Cleanup(func() {
		_ = f.cmd.Process.Kill() // mostly gone already
		_ = f.wait()             // likewise
	})
	return f
}

// status waits for the end of the process and returns its exit status.
func (f *followed) status(t *testing.T) int {
	t.Helper()
	err := f.wait()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode()
	}
	if err != nil {
		t.Fatal(err)
	}
	return cli.ExitDone
}

// interrupt is Ctrl-C.
func (f *followed) interrupt(t *testing.T) {
	t.Helper()
	if err := f.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
}

func (f *followed) read(s *bufio.Scanner, to *[]string) {
	for s.Scan() {
		f.mu.Lock()
		*to = append(*to, s.Text())
		f.mu.Unlock()
	}
}

// await waits for a line with a text among those that it printed.
func (f *followed) await(t *testing.T, lines *[]string, text string) {
	t.Helper()
	await.Until(t, "a line with "+text, func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return slices.ContainsFunc(*lines, func(line string) bool { return strings.Contains(line, text) })
	})
}

// TestEventsVerb: events of two frontends are shown in order and followed, also when one of them
// dies and comes back; Ctrl-C ends that with 130.
func TestEventsVerb(t *testing.T) {
	t.Parallel()
	common := []string{"--nats", "", "--http", ""}
	master := spawn(t, append([]string{"master", "--listen", "127.0.0.1:0"}, common...)...)
	data, frontends, serve := t.TempDir(), []*process{}, []string{}
	start := func(id, listen, internal string) *process {
		return spawn(t, append([]string{"frontend", "--id", id, "--data", data + "/" + id, "--masters", master.line.Addresses["daemons"], "--listen", listen, "--internal-listen", internal}, common...)...)
	}
	for _, id := range []string{"frontend-a", "frontend-b"} {
		p := start(id, "127.0.0.1:0", "127.0.0.1:0")
		frontends, serve = append(frontends, p), append(serve, p.line.Addresses["applications"])
	}
	cluster := strings.Join(serve, ",")
	f := followVerb(t, "events", "-f", "--frontend", cluster)
	f.await(t, &f.out, "frontend frontend-b was started")
	for i, address := range serve {
		succeed(t, "submit", "--frontend", address, "--key", "job-"+string(rune('a'+i)), "--owner", "team", "--sleep", "1h")
	}
	f.await(t, &f.out, "job job-a was accepted: 1 task, short, for team")
	f.await(t, &f.out, "job job-b was accepted")

	list := lines[api.Event](t, succeed(t, "events", "--frontend", cluster, "-o", "json", "--type", "job"))
	if len(list) != 2 || list[0].Job != "job-a" || list[1].Frontend != "frontend-b" || list[0].Time > list[1].Time {
		t.Errorf("%+v", list)
	}
	if text := succeed(t, "events", "--frontend", cluster, "--job", "job-b", "--since", "1h"); strings.Count(text, "\n") != 0 || !strings.Contains(text, "info     job_submitted       job job-b") {
		t.Errorf("%s", text)
	}
	for limit, want := range map[string][]string{"1": {"job-b"}, "2": {"job-a", "job-b"}, "9": {"job-a", "job-b"}, "0": {"job-a", "job-b"}} { // of both frontends together
		var got []string
		for _, e := range lines[api.Event](t, succeed(t, "events", "--frontend", cluster, "-o", "json", "--type", "job", "--limit", limit)) {
			got = append(got, e.Job)
		}
		if !slices.Equal(got, want) {
			t.Errorf("--limit %s: %q, want %q", limit, got, want)
		}
	}
	for _, wrong := range [][]string{{"--since", "soon"}, {"--since", "-5m"}, {"--type", "jobs"}, {"--limit", "-1"}} {
		if code, _, errs := program(t, append([]string{"events", "--frontend", cluster}, wrong...)...); code != cli.ExitUsage || errs == "" {
			t.Errorf("%q: status %d, %s", wrong, code, errs)
		}
	}

	internal := frontends[1].line.Addresses["daemons"]
	if err := frontends[1].cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	f.await(t, &f.errs, "the frontend at "+serve[1]+" does not answer, so its events are missing")
	succeed(t, "submit", "--frontend", serve[0], "--key", "job-c", "--sleep", "1h")
	f.await(t, &f.out, "job job-c was accepted")
	start("frontend-b", serve[1], internal)
	f.await(t, &f.errs, "the frontend at "+serve[1]+" answers again")
	f.await(t, &f.errs, "frontend frontend-b at "+serve[1]+" is another process than before")
	f.await(t, &f.out, "frontend frontend-b was started, with 1 unfinished job in its journal")

	f.interrupt(t)
	if status := f.status(t); status != cli.ExitInterrupted {
		t.Errorf("Ctrl-C: status %d", status)
	}
}
