package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/client"
	"github.com/pigeon-sched/pigeon/cmd/pigeon/connect"
	"github.com/pigeon-sched/pigeon/cmd/pigeon/jobs"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/await"
	"github.com/pigeon-sched/pigeon/internal/cli"
)

// TestJobs is the life of jobs as their user sees it, on one cluster.
func TestJobs(t *testing.T) {
	_, line := runDev(t, "--policy", "pigeon", // where a declared class stays
		"--frontends", "2", "--groups", "1", "--nodes", "2", "--slots", "2")
	t.Run("output", testOutput)
	t.Run("environment", testEnvFile)
	t.Run("run", testRun)
	t.Run("the cluster of a task", testClusterOfATask)
	t.Run("interruptions", testInterruptions)
	t.Run("failed tasks", testFailedTasks)
	t.Run("tasks again", testTasksAgain)
	t.Run("keys", testKeys)
	t.Run("an output that is full", testFullOutput)
	t.Run("cancel", testCancel)
	t.Run("contract", testContract)
	t.Run("mistakes", testMistakes)
	t.Run("too many tasks over the wire", func(t *testing.T) { testTooManyTasks(t, line.Frontends) })
	t.Run("completion", testCompletion)
}

// testClusterOfATask runs this program as a task, which lists itself: the job's frontend is in its
// environment, and the variables that describe it are no misspelt settings.
func testClusterOfATask(t *testing.T) {
	out := succeed(t, "run", "--env", "HOME=/nonexistent", "--env", "XDG_RUNTIME_DIR=/nonexistent", "--", os.Args[0], "status", "-o", "json")
	if !strings.Contains(out, `"state":"running"`) {
		t.Errorf("status of itself: %s", out)
	}
}

func testOutput(t *testing.T) {
	job := succeed(t, "submit", "--tasks", "3", "--env", "WHO=me", "--wait", "--", "sh", "-c", "echo $WHO $PIGEON_TASK; echo oh >&2")
	if got := succeed(t, "logs", job, "--task", "2"); got != "me 2" {
		t.Errorf("stdout %q", got)
	}
	if got := succeed(t, "logs", job, "--task", "1", "--attempt", "1", "--stderr"); got != "oh" {
		t.Errorf("stderr %q", got)
	}
	if got := succeed(t, "logs", job, "-o", "json"); !strings.Contains(got, `"stream":"stdout","offset":0,"data":"me 0\n"`) {
		t.Errorf("json %q", got)
	}
	if code, _, errs := program(t, "logs", job, "--task", "3"); code != cli.ExitUsage || !strings.Contains(errs, "tasks 0 to 2") {
		t.Errorf("%d %s", code, errs)
	}

	// Followed from before its end: the task ends when the test lets it.
	gate := filepath.Join(t.TempDir(), "gate")
	job = succeed(t, "submit", "--", "sh", "-c", "echo before; while ! [ -e "+gate+" ]; do sleep 0.01; done; echo after")
	followed := make(chan string, 1)
	go func() {
		_, out, errs := program(t, "logs", job, "--follow")
		followed <- out + errs
	}()
	await.Until(t, "its first line", func() bool {
		code, out, _ := program(t, "logs", job)
		return code == cli.ExitDone && out == "before\n"
	})
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := <-followed; got != "before\nafter\n" {
		t.Errorf("followed %q", got)
	}
}

func testRun(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		args           []string
		code           int
		stdout, stderr string // of stderr a part
	}{
		{[]string{"run", "--", "echo", "hello"}, 0, "hello\n", ""},
		{[]string{"run", "echo", "-n", "no dashes"}, 0, "no dashes", ""},
		{[]string{"run", "--dir", dir, "--", "pwd"}, 0, dir + "\n", ""},
		{[]string{"run", "--", "sh", "-c", "echo out; echo err >&2; exit 3"}, 3, "out\n", "err\n"},
		{[]string{"run", "--", "sh", "-c", "kill -9 $$"}, 137, "", ""},
		{[]string{"run", "--", "no-such-program"}, 127, "", `"no-such-program" was not found`},
		{[]string{"run", "--", "/nonexistent"}, 127, "", `"/nonexistent" does not exist`},
		{[]string{"run", "--", "/etc/passwd"}, 126, "", `may not run the program "/etc/passwd"`},
		{[]string{"run", "--dir", "/no/such/folder", "--", "true"}, cli.ExitFailed, "", "/no/such/folder"},
		{[]string{"run", "--time-limit", "2s", "--", "sh", "-c", "echo on; exec sleep 600"}, 143, "on\n", "it ran for 2s, its time limit"},
		{[]string{"run", "--memory", "256M", "--", "sh", "-c", "tail /dev/zero 2>/dev/null"}, 1, "", "of the 256M of memory"},
		{[]string{"run", "--memory", "5", "--", "true"}, cli.ExitUsage, "", "has no unit"},
		// It fails once, and finds its own trace the second time.
		{[]string{"run", "--retries", "1", "--dir", dir, "--", "sh", "-c", "if [ -e again ]; then echo ok; else touch again; exit 9; fi"}, 0, "ok\n", ""},
	} {
		code, out, errs := program(t, c.args...)
		errs = withoutWaiting(errs)
		if code != c.code || out != c.stdout || !strings.Contains(errs, c.stderr) || c.stderr == "" && errs != "" {
			t.Errorf("pigeon %s: status %d, stdout %q, stderr %q", strings.Join(c.args, " "), code, out, errs)
		}
	}
}

// withoutWaiting drops the lines of run and submit --wait about a job that waits, as any may on a
// busy machine.
func withoutWaiting(errs string) string {
	var rest []string
	for line := range strings.Lines(errs) {
		waits := strings.HasPrefix(line, "pigeon: job ") && (strings.Contains(line, " is queued: ") || strings.Contains(line, " after ")) ||
			strings.HasPrefix(line, "job ") && strings.Contains(line, " done, ")
		if !waits {
			rest = append(rest, line)
		}
	}
	return strings.Join(rest, "")
}

// A job whose user goes away is cancelled when it was started by run, and continues when
// the user only watched it.
func testInterruptions(t *testing.T) {
	sleeps := func(verb, key string, flags ...string) []string {
		return append(append([]string{verb, "--key", key}, flags...), "--", "sh", "-c", "echo on; sleep 600")
	}
	for _, c := range []struct {
		name, job string
		args      []string
		interrupt func(cancel context.CancelFunc)
		code      int
		state     api.State
	}{
		{"run, Ctrl-C", "interrupted", sleeps("run", "interrupted"), func(cancel context.CancelFunc) { cancel() }, cli.ExitInterrupted, api.StateCancelled},
		{"run, terminal closed", "closed", sleeps("run", "closed"), func(context.CancelFunc) { hangUp(t) }, cli.ExitInterrupted, api.StateCancelled},
		{"submit --wait, Ctrl-C", "waited", sleeps("submit", "waited", "--wait"), func(cancel context.CancelFunc) { cancel() }, cli.ExitInterrupted, api.StateRunning},
		{"logs -f, Ctrl-C", "waited", []string{"logs", "-f", "waited"}, func(cancel context.CancelFunc) { cancel() }, cli.ExitInterrupted, api.StateRunning},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.job == "closed" && signal.Ignored(syscall.SIGHUP) {
				t.Skip("these tests were started to outlive their terminal (nohup), and so does what they start")
			}
			ctx, cancel := context.WithCancel(t.Context())
			out := &signalWriter{written: make(chan struct{})}
			var errs bytes.Buffer
			ended := make(chan int, 1)
			go func() { ended <- run(ctx, c.args, strings.NewReader(""), out, &errs) }()
			<-out.written
			await.Until(t, "its task runs", func() bool { return statusOfJob(t, c.job).State == api.StateRunning })
			c.interrupt(cancel)
			if code := <-ended; code != c.code {
				t.Errorf("status %d, %s", code, errs.String())
			}
			cancel()
			if s := statusOfJob(t, c.job); s.State != c.state {
				t.Errorf("the job is %+v", s)
			}
			if c.state == api.StateRunning && !strings.Contains(errs.String(), "'pigeon cancel "+c.job+"' ends it") {
				t.Errorf("it says %q", errs.String())
			}
		})
	}
	succeed(t, "cancel", "waited")

	// No process reads the output.
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	_ = r.Close()
	var errs bytes.Buffer
	code := run(t.Context(), sleeps("run", "unread"), strings.NewReader(""), w, &errs)
	if s := statusOfJob(t, "unread"); code != cli.ExitBrokenPipe || s.State != api.StateCancelled {
		t.Errorf("status %d, %s, %+v", code, errs.String(), s)
	}
	_ = w.Close()

	// Another user cancels it.
	out := &signalWriter{written: make(chan struct{})}
	ended := make(chan int, 1)
	errs.Reset()
	go func() { ended <- run(t.Context(), sleeps("run", "ended"), strings.NewReader(""), out, &errs) }()
	<-out.written
	succeed(t, "cancel", "ended")
	if code := <-ended; code != cli.ExitFailed || !strings.Contains(errs.String(), "job ended was cancelled") {
		t.Errorf("status %d, %q", code, errs.String())
	}
}

// hangUp is what a closed terminal does to the program.
func hangUp(t *testing.T) {
	if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
}

// signalWriter signals the first write.
type signalWriter struct{ written chan struct{} }

func (w *signalWriter) Write(p []byte) (int, error) {
	select {
	case <-w.written:
	default:
		close(w.written)
	}
	return len(p), nil
}

func statusOfJob(t *testing.T, job string) api.Status {
	t.Helper()
	return lines[api.Status](t, succeed(t, "status", job, "-o", "json"))[0]
}

func testFailedTasks(t *testing.T) {
	code, out, errs := program(t, "submit", "--tasks", "4", "--wait", "-o", "json", "--", "sh", "-c", "test $PIGEON_TASK -ne 2 || exit 7")
	if code != cli.ExitFailed || errs != "" {
		t.Fatalf("%d %s", code, errs)
	}
	s := lines[api.Status](t, out)[1]
	if s.State != api.StateFailed || s.Completed != 3 || s.Failed != 1 || !strings.Contains(s.Reason, "status 7") {
		t.Errorf("%+v", s)
	}
	e := lines[api.Explanation](t, succeed(t, "explain", s.Job, "-o", "json"))[0]
	if len(e.Tasks) != 1 || e.Tasks[0].Task != 2 || e.Tasks[0].Exit != 7 || !strings.Contains(e.Why[0], "1 of 4 tasks failed") {
		t.Errorf("%+v", e)
	}
	for verb, want := range map[string]string{"explain": "TASK  ATTEMPT", "status": "reason"} {
		if text := succeed(t, verb, s.Job); !strings.Contains(text, want) || !strings.Contains(text, "status 7") {
			t.Errorf("pigeon %s:\n%s", verb, text)
		}
	}
}

func testKeys(t *testing.T) {
	for i, want := range []bool{false, true} {
		r := lines[jobs.SubmitLine](t, succeed(t, "submit", "--key", "nightly", "--sleep", "1ms", "-o", "json"))[0]
		if r.Job != "nightly" || r.Duplicate != want {
			t.Errorf("time %d: %+v", i, r)
		}
	}
	if s := statusOfJob(t, "nightly"); s.Tasks != 1 {
		t.Errorf("%+v", s)
	}
}

// fullDisk takes no bytes after the first ones.
type fullDisk struct{ room int }

func (d *fullDisk) Write(p []byte) (int, error) {
	if len(p) > d.room {
		return 0, syscall.ENOSPC
	}
	d.room -= len(p)
	return len(p), nil
}

// testFullOutput: who cannot read the id of a job on standard output finds it in the error, and does
// not submit the work twice.
func testFullOutput(t *testing.T) {
	for key, c := range map[string]struct {
		room  int
		flags []string
		want  string
	}{
		"full":         {0, nil, "was accepted, and its id could not be written"},
		"full-json":    {0, []string{"-o", "json"}, "was accepted, and its id could not be written"},
		"full-waiting": {0, []string{"--wait"}, "was accepted, and its id could not be written"},
		"full-later":   {200, []string{"--wait", "-o", "json"}, "was accepted and completed, and that could not be written"},
	} {
		var errs bytes.Buffer
		args := append([]string{"submit", "--key", key, "--sleep", "1ms"}, c.flags...)
		code := run(t.Context(), args, strings.NewReader(""), &fullDisk{c.room}, &errs)
		if code != cli.ExitFailed || !strings.Contains(errs.String(), "pigeon: job "+key+" "+c.want) {
			t.Errorf("%q: status %d, %s", args, code, errs.String())
		}
		statusOfJob(t, key)
	}
}

func testCancel(t *testing.T) {
	job := succeed(t, "submit", "--class", "long", "--sleep", "10m", "--tasks", "50")
	await.Until(t, "running", func() bool { return statusOfJob(t, job).Running == 4-reservedOf(t) })
	e := lines[api.Explanation](t, succeed(t, "explain", job, "-o", "json"))[0]
	if why := strings.Join(e.Why, " "); !strings.Contains(why, "wait among") || !strings.Contains(why, "declared by the submitter") || e.Groups[0].Queued == 0 {
		t.Errorf("%+v", e)
	}
	if got := succeed(t, "cancel", job); !strings.Contains(got, "is cancelled") {
		t.Error(got)
	}
	if got := lines[api.Status](t, succeed(t, "cancel", job, "-o", "json"))[0]; got.State != api.StateCancelled {
		t.Errorf("%+v", got)
	}
	await.Until(t, "idle slots", func() bool {
		busy := 0
		for _, n := range lines[api.Node](t, succeed(t, "nodes", "-o", "json")) {
			busy += n.Busy
		}
		return busy == 0
	})
	if got := succeed(t, "explain", job); !strings.Contains(got, "cancelled by its user") {
		t.Error(got)
	}
}

func reservedOf(t *testing.T) (n int) {
	t.Helper()
	for _, node := range lines[api.Node](t, succeed(t, "nodes", "-o", "json")) {
		n += node.Reserved
	}
	return n
}

// testContract: the keys that others script against.
func testContract(t *testing.T) {
	job := succeed(t, "submit", "--sleep", "1ms", "--estimate", "5s", "--wait")
	var keys map[string]any
	if err := json.Unmarshal([]byte(succeed(t, "status", job, "-o", "json")), &keys); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"job", "state", "class", "tasks", "running", "completed", "failed", "submitted", "ended", "reason"} {
		if _, there := keys[key]; !there {
			t.Errorf("status lacks %q: %v", key, keys)
		}
	}
	if keys["state"] != "completed" || keys["class"] != "long" {
		t.Errorf("%v", keys)
	}
	list := lines[api.Status](t, succeed(t, "status", "--limit", "3", "-o", "json"))
	if len(list) != 3 || list[0].Job != job || list[1].Submitted < list[2].Submitted {
		t.Errorf("the newest jobs: %+v", list)
	}
	for verb, want := range map[string]string{"nodes": "node-0-001", "nodes --groups": "LAUNCHES", "status": job} {
		if got := succeed(t, strings.Fields(verb)...); !strings.Contains(got, want) {
			t.Errorf("pigeon %s:\n%s", verb, got)
		}
	}
	if g := lines[api.MasterState](t, succeed(t, "nodes", "--groups", "-o", "json")); len(g) != 1 || g[0].Workers != 4 || g[0].Nodes != nil {
		t.Errorf("groups: %+v", g)
	}
}

func testMistakes(t *testing.T) {
	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{"submit", cli.ExitUsage, "no program"},
		{"run", cli.ExitUsage, "no program"},
		{"submit --sleep 1s -- true", cli.ExitUsage, "both --sleep"},
		{"submit --sleep -1s", cli.ExitUsage, "is negative"},
		{"submit --estimate -1s -- true", cli.ExitUsage, "estimate is -1s"},
		{"submit --class medium -- true", cli.ExitUsage, `"medium"`},
		{"submit --retries 101 -- true", cli.ExitUsage, "0 to 100"},
		{"submit --tasks 100001 -- true", cli.ExitUsage, "limit"},
		{"submit --tasks 0 -- true", cli.ExitUsage, "--tasks is 0, and a job has at least one task"},
		{"submit --tasks -1 -- true", cli.ExitUsage, "give 1 or more, or leave it out for one"},
		{"submit --env NO_SUCH_VARIABLE -- true", cli.ExitUsage, "NO_SUCH_VARIABLE"},
		{"submit --env =x -- true", cli.ExitUsage, "names no variable"},
		{"submit --frontend nowhere -- true", cli.ExitUsage, "host:port"},
		{"status nope", cli.ExitFailed, `"nope": no such job`},
		{"explain nope", cli.ExitFailed, `"nope": no such job`},
		{"cancel nope", cli.ExitFailed, `"nope": no such job`},
		{"logs nope", cli.ExitFailed, `"nope": no such job`},
		{"logs nope --task -1", cli.ExitUsage, "is no number of a task"},
		{"logs nope --task 1%2", cli.ExitUsage, "is no number of a task"},
		{"status --limit 0", cli.ExitUsage, "--limit 0"},
		{"status --frontend 127.0.0.1:1 --retry-for 0", cli.ExitFailed, "frontend at 127.0.0.1:1"},
	} {
		if code, out, errs := program(t, strings.Fields(c.args)...); code != c.code || out != "" || !strings.Contains(errs, c.want) {
			t.Errorf("pigeon %s: status %d, %q, %s", c.args, code, out, errs)
		}
	}
}

// testTooManyTasks: the frontend itself refuses, naming the limit, and serves on.
func testTooManyTasks(t *testing.T, addresses []string) {
	c, err := connect.Dial(client.Options{Addresses: addresses[:1], Timeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}()
	r := &api.Request{Key: "huge", Backend: api.BackendSleep, Tasks: make([]api.Task, api.MaxTasks+1)}
	for i := range r.Tasks {
		r.Tasks[i] = api.Task{ID: fmt.Sprint(i), Payload: api.Payload{Backend: api.BackendSleep}}
	}
	if _, _, err := c.Submit(t.Context(), r); !client.HasProblem(err, api.Invalid) || !strings.Contains(err.Error(), "limit of 100000") {
		t.Errorf("got %v", err)
	}
	if _, _, err := c.Find(t.Context(), "huge"); !client.HasProblem(err, api.NotFound) {
		t.Errorf("it was accepted: %v", err)
	}
}

func testCompletion(t *testing.T) {
	job := succeed(t, "submit", "--sleep", "1ms")
	for _, verb := range []string{"status", "explain", "cancel", "logs"} {
		offered := strings.Split(succeed(t, "__complete", verb, job[:20]), "\n")
		if !slices.ContainsFunc(offered, func(s string) bool { return strings.HasPrefix(s, job+"\t") }) {
			t.Errorf("pigeon %s offers %q", verb, offered)
		}
	}
}

// TestNoCluster: what happened, what was tried, what to do.
func TestNoCluster(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv("PIGEON_FRONTEND", "")
	code, _, errs := program(t, "status")
	for _, part := range []string{"no cluster found", "--frontend", "PIGEON_FRONTEND", "dev.json", "pigeon dev"} {
		if code != cli.ExitUsage || !strings.Contains(errs, part) {
			t.Errorf("status %d without %q: %s", code, part, errs)
		}
	}
}

// TestWhichCluster: flag before variable before file before the running dev.
func TestWhichCluster(t *testing.T) {
	runDev(t, "--groups", "1", "--nodes", "1", "--slots", "1")
	succeed(t, "nodes")
	file := filepath.Join(os.Getenv("XDG_CONFIG_HOME"), "pigeon", "client.yaml")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(`frontend: ["127.0.0.1:1"]`), 0o600); err != nil {
		t.Fatal(err)
	}
	asks := func(want string, args ...string) {
		t.Helper()
		if _, _, errs := program(t, append([]string{"nodes"}, args...)...); !strings.Contains(errs, "frontend at "+want) {
			t.Errorf("%v: %s", args, errs)
		}
	}
	t.Setenv("PIGEON_RETRY_FOR", "0")
	asks("127.0.0.1:1")
	t.Setenv("PIGEON_FRONTEND", "127.0.0.1:2")
	asks("127.0.0.1:2")
	asks("127.0.0.1:3", "--frontend", "127.0.0.1:3")
}
