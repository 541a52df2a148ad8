package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/pigeon-sched/pigeon/cmd/pigeon/dev"
	"github.com/pigeon-sched/pigeon/cmd/pigeon/jobs"
	"github.com/pigeon-sched/pigeon/cmd/pigeon/rendezvous"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/cli"
	"github.com/pigeon-sched/pigeon/internal/daemontest"
	"github.com/pigeon-sched/pigeon/internal/daemontest/ports"
	"github.com/pigeon-sched/pigeon/internal/policy"
	"github.com/pigeon-sched/pigeon/internal/webpage"
)

// program runs the whole program, as main does.
func program(t testing.TB, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(t.Context(), args, strings.NewReader(""), &out, &errs)
	return code, out.String(), errs.String()
}

// succeed runs the program and returns its output without the last line break.
func succeed(t testing.TB, args ...string) string {
	t.Helper()
	code, out, errs := program(t, args...)
	if code != cli.ExitDone {
		t.Fatalf("pigeon %s: status %d: %s", strings.Join(args, " "), code, errs)
	}
	return strings.TrimRight(out, "\n")
}

// lines decodes JSON Lines.
func lines[T any](t testing.TB, text string) (list []T) {
	t.Helper()
	for line := range strings.Lines(text) {
		var v T
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		list = append(list, v)
	}
	return list
}

// background is a verb that runs until it is stopped.
type background struct {
	first string // the first line it printed
	stop  func() (code int, stderr string)
}

// start runs a verb in the background and waits for its first line; at the end
// of the test it is stopped, unless the test did, and must have printed no error.
func start(t testing.TB, args ...string) background {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r, w := io.Pipe()
	var errs bytes.Buffer
	ended := make(chan int, 1)
	go func() {
		ended <- run(ctx, args, strings.NewReader(""), w, &errs)
		_ = w.Close() // never fails
	}()
	out := bufio.NewReader(r)
	first, err := out.ReadString('\n')
	rest := make(chan struct{})
	go func() {
		defer close(rest)
		_, _ = io.Copy(io.Discard, out) // the pipe's own error is its end
	}()
	stop := sync.OnceValues(func() (int, string) {
		cancel()
		code := <-ended
		<-rest
		return code, errs.String()
	})
	if err != nil {
		code, errs := stop()
		t.Fatalf("pigeon %s: status %d before it was ready: %s", strings.Join(args, " "), code, errs)
	}
	asked := false // the test has stopped it and reads its errors
	t.Cleanup(func() {
		if code, errs := stop(); !asked && (code != cli.ExitDone || errs != "") {
			t.Errorf("pigeon %s: status %d: %s", strings.Join(args, " "), code, errs)
		}
	})
	return background{first: first, stop: func() (int, string) { asked = true; return stop() }}
}

// runDev runs "pigeon dev" for a separate user.
func runDev(t testing.TB, args ...string) (background, dev.Line) {
	t.Helper()
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv("PIGEON_FRONTEND", "")
	b := start(t, append([]string{"dev", "-o", "json"}, args...)...)
	return b, lines[dev.Line](t, b.first)[0]
}

// TestDevUnderEveryPolicy: the commands run, show and cancel jobs under each, and
// all workers are idle in the end.
func TestDevUnderEveryPolicy(t *testing.T) {
	for _, spec := range append(policy.Names(), "kairos:cores=2") {
		t.Run(spec, func(t *testing.T) {
			runDev(t, "--policy", spec, "--slots", "2")
			if got := succeed(t, "run", "--", "echo", "hello"); got != "hello" {
				t.Errorf("%q", got)
			}
			var job struct{ Job string }
			if err := json.Unmarshal([]byte(succeed(t, "submit", "--tasks", "20", "--sleep", "30s", "--class", "long", "-o", "json")), &job); err != nil {
				t.Fatal(err)
			}
			if text := succeed(t, "explain", job.Job); !strings.Contains(text, job.Job) {
				t.Errorf("explain prints %s", text)
			}
			succeed(t, "cancel", job.Job)
			daemontest.Await(t, "all workers are idle", func() bool {
				slots, busy := 0, 0
				for _, n := range lines[api.Node](t, succeed(t, "nodes", "-o", "json")) {
					slots, busy = slots+n.Slots, busy+n.Busy
				}
				return slots == 8 && busy == 0
			})
		})
	}
}

// TestDevTellsWhereItIs: the content of its one line, the web page, and that
// nothing is left at the end.
func TestDevTellsWhereItIs(t *testing.T) {
	b, line := runDev(t, "--frontends", "2")
	if !line.Ready || len(line.Frontends) != 2 || !strings.HasPrefix(line.NATS, "nats://127.0.0.1:") || len(line.Backends) != 4 {
		t.Errorf("%+v", line)
	}
	if page := httpGet(t, line.Web); !strings.Contains(page, "<title>Pigeon</title>") {
		t.Errorf("the page is %q", page)
	}
	var s webpage.State
	if err := json.Unmarshal([]byte(httpGet(t, line.Web+"api/state")), &s); err != nil || len(s.Groups) != 2 || s.Groups[0].Workers != 8 || len(s.Groups[1].Nodes) != 2 {
		t.Errorf("%+v, %v", s, err)
	}

	if code, errs := b.stop(); code != cli.ExitDone || errs != "" {
		t.Errorf("status %d: %s", code, errs)
	}
	for _, path := range []string{line.Data, rendezvous.Path()} {
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is left: %v", path, err)
		}
	}
}

// TestTwoDevs: a second dev of a user is refused, and told which one runs; the commands still reach that.
func TestTwoDevs(t *testing.T) {
	_, first := runDev(t, "--groups", "1", "--nodes", "1")
	code, out, errs := program(t, "dev", "--groups", "1", "--nodes", "2")
	for _, part := range []string{"another pigeon dev of this user runs already", first.Frontends[0], "XDG_RUNTIME_DIR"} {
		if code != cli.ExitFailed || out != "" || !strings.Contains(errs, part) {
			t.Errorf("status %d, without %q: %s%s", code, part, out, errs)
		}
	}
	if got := succeed(t, "run", "--", "echo", "hello"); got != "hello" {
		t.Errorf("%q", got)
	}
}

// TestDevWithoutNATS: a dev without a NATS server names none, and runs tasks.
func TestDevWithoutNATS(t *testing.T) {
	b, line := runDev(t, "--nats=false", "--groups", "1", "--nodes", "1")
	if line.NATS != "" || !strings.Contains(b.first, `"nats":""`) {
		t.Errorf("the line is %s", b.first)
	}
	if got := succeed(t, "run", "--", "echo", "hello"); got != "hello" {
		t.Errorf("%q", got)
	}
}

func httpGet(t *testing.T, url string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Close = true
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }() // only read
	body, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d %s %v", url, answer.StatusCode, body, err)
	}
	return string(body)
}

// TestDevWithoutReceiver: a dev whose traces no process receives works and ends like any other.
func TestDevWithoutReceiver(t *testing.T) {
	b, _ := runDev(t, "--otlp", ports.Address(t), "--nodes", "2", "--trace-url", "http://jaeger:16686/trace/{trace}")
	succeed(t, "submit", "--key", "traced", "--sleep", "1ms", "--wait")
	e := lines[api.Explanation](t, succeed(t, "explain", "traced", "-o", "json"))[0]
	if len(e.Trace) != 32 || e.TraceURL != "http://jaeger:16686/trace/"+e.Trace {
		t.Errorf("trace %q at %q", e.Trace, e.TraceURL)
	}
	if text := succeed(t, "explain", "traced"); !strings.HasSuffix(text, "trace "+e.Trace+": "+e.TraceURL) {
		t.Errorf("explain ends without the trace: %s", text)
	}
	if code, errs := b.stop(); code != cli.ExitDone {
		t.Errorf("status %d: %s", code, errs)
	}
}

// TestDevKeepsData: with --data the next dev knows the jobs of the last, and
// their keys.
func TestDevKeepsData(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	b, _ := runDev(t, "--data", data)
	succeed(t, "submit", "--key", "once", "--sleep", "1ms", "--wait")
	if code, errs := b.stop(); code != cli.ExitDone {
		t.Fatal(errs)
	}
	runDev(t, "--data", data)
	if s := lines[api.Status](t, succeed(t, "status", "once", "-o", "json"))[0]; s.State != api.StateCompleted {
		t.Errorf("%+v", s)
	}
	if r := lines[jobs.SubmitLine](t, succeed(t, "submit", "--key", "once", "--sleep", "1ms", "-o", "json"))[0]; !r.Duplicate {
		t.Errorf("%+v", r)
	}
}

func TestDevRefuses(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"dev --nodes 1 --groups 2", "--nodes 1"},
		{"dev --slots 0", "--slots 0"},
		{"dev --slots 100000", "--slots 100000: use a number"},
		{"dev --policy nosuch", `--policy nosuch: policy "nosuch" is unknown`},
		{"dev --policy kairos:cores=3", "a node of 4 slots cannot be divided"},
		{"dev --reserved 2", "--reserved 2: use a share from 0 to below 1; nothing was started"},
		{"dev --cutoff -1s", "--cutoff -1s: use a duration above zero; nothing was started"},
		{"dev --weight -1", "--weight -1: use 0 (infinite) or more; nothing was started"},
		{"dev --nodes 251 --groups 1", "--nodes 251"},
		{"dev --frontends 251", "--frontends 251"},
		{"dev --web 0.0.0.0:0", "loopback"},
		{"dev --listen example.org:1", "loopback"},
		{"dev --log-level loud", "loud"},
	} {
		if code, out, errs := program(t, strings.Fields(c.args)...); code != cli.ExitUsage || out != "" || !strings.Contains(errs, c.want) {
			t.Errorf("pigeon %s: %d %q %s", c.args, code, out, errs)
		}
	}
}
