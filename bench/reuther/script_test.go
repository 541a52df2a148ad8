package reuther

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestScripts: each task of an array runs its program, with arguments as they are.
func TestScripts(t *testing.T) {
	for name, programs := range map[string][][]string{
		"equal":     {{"echo", "it's", "$HOME"}, {"echo", "it's", "$HOME"}},
		"different": {{"echo", "a  b"}, {"echo", `"c"`}},
	} {
		script, err := writeScript(filepath.Join(t.TempDir(), name), "TASK", programs)
		if err != nil {
			t.Fatal(err)
		}
		for i, p := range programs {
			cmd := exec.CommandContext(t.Context(), "sh", script)
			cmd.Env = append(os.Environ(), "TASK="+string(rune('1'+i)))
			if out, err := cmd.CombinedOutput(); err != nil || string(out) != strings.Join(p[1:], " ")+"\n" {
				t.Errorf("%s, task %d: %q, %v", name, i+1, out, err)
			}
		}
	}
}

func add(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestRecords: lines that are there, and those that come in parts later, are counted once;
// earlier ones and other lines are not.
func TestRecords(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ended")
	add(t, path, "JobId=1 JobState=FAILED x\n")
	from := size(path)
	add(t, path, "JobId=2 JobState=COMPLETED x\nsomething else\nJobId=3 Job")
	got := make(chan error, 1)
	go func() { got <- awaitRecords(t.Context(), path, from, 3, slurmRecord) }()
	add(t, path, "State=FAILED y\nJobId=4 JobState=COMPLETED\n")
	if err := <-got; err == nil || !strings.Contains(err.Error(), "JobId=3") {
		t.Errorf("a failed task: %v", err)
	}
	if err := awaitRecords(t.Context(), path, size(path)-30, 1, slurmRecord); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("slurmctld has ended"))
	if err := awaitRecords(ctx, filepath.Join(t.TempDir(), "none"), 0, 1, slurmRecord); err == nil || !strings.Contains(err.Error(), "1 tasks have not ended: slurmctld has ended") {
		t.Error(err)
	}
}

func TestSpoolerState(t *testing.T) {
	const head = "ID   State      Output               E-Level  Times(r/u/s)   Command [run=1/2]\n"
	for list, want := range map[string]string{
		head: "done",
		head + "0    finished   (file)  0  0.00/0.00/0.00 true\n":                                   "done",
		head + "0    finished   (file)  0  0.00/0.00/0.00 true\n1    running    (file)   true\n":    "not done",
		head + "0    finished   (file)  1  0.00/0.00/0.00 false\n1    finished   (file)  0  true\n": "a task failed: 0    finished",
		head + "1    queued     (file)   true\n":                                                    "not done",
	} {
		done, failed := spoolerState(list)
		got := map[bool]string{true: "done", false: "not done"}[done]
		if failed != nil {
			got = failed.Error()
		}
		if !strings.HasPrefix(got, want) {
			t.Errorf("%q, want %q of %q", got, want, list)
		}
	}
}

// TestSlurmConfiguration: the configuration shown is the one written, except for the
// folder; nothing listens on addresses other than loopback.
func TestSlurmConfiguration(t *testing.T) {
	p, err := newPlace()
	if err != nil {
		t.Fatal(err)
	}
	dir := p.dir
	s := slurm{place: p}
	if err := s.configure(7); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(p.path("slurm.conf"))
	if err != nil || strings.ReplaceAll(string(text), dir, "DIR") != s.configuration {
		t.Errorf("%v, %s", err, text)
	}
	for _, want := range []string{"CPUs=7", "NoCtldInAddrAny,NoInAddrAny", "socket=DIR/munge.socket"} {
		if !strings.Contains(s.configuration, want) {
			t.Errorf("no %q in %s", want, s.configuration)
		}
	}
	if err := errors.Join(s.Stop(), s.Stop()); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("%s is still there: %v", dir, err)
	}
}

// TestPlaceLeavesNothing: close ends a daemon, and what it started in a separate session.
func TestPlaceLeavesNothing(t *testing.T) {
	p, err := newPlace("WHERE=@/x")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.close() }) // after a failure; it is closed below
	if _, err := p.daemon("daemon", "sh", "-c", `setsid sh -c 'echo $$ > pid.new; mv pid.new pid; exec sleep 600' & exec sleep 600`); err != nil {
		t.Fatal(err)
	}
	var pid string
	err = p.until(t.Context(), "the process has written its number", func(context.Context) bool {
		text, err := os.ReadFile(p.path("pid"))
		pid = strings.TrimSpace(string(text))
		return err == nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if out, err := p.command(t.Context(), "sh", "-c", "echo $WHERE"); err != nil || out != p.path("x") {
		t.Errorf("%q, %v", out, err)
	}
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
	if state, err := os.ReadFile("/proc/" + pid + "/stat"); err == nil && !strings.Contains(string(state), ") Z ") {
		t.Errorf("process %s still runs: %s", pid, state)
	}
	// A daemon that ends by itself ends a call that waits for it, with that as the cause.
	q, err := newPlace()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = q.close() }) // its daemon has failed
	if _, err := q.daemon("short", "sh", "-c", "echo no disk; exit 3"); err != nil {
		t.Fatal(err)
	}
	ctx, free := q.guarded(t.Context())
	defer free()
	select {
	case <-ctx.Done():
	case <-time.After(time.Minute):
		t.Fatal("the end of the daemon was not reported")
	}
	if err := context.Cause(ctx); !strings.Contains(err.Error(), "no disk") {
		t.Error(err)
	}
}

// TestGridEngineTexts: what is changed in a configuration, and what its files and commands
// contain.
func TestGridEngineTexts(t *testing.T) {
	if got := withLines("a 1\nab   2\nc 3\n", "ab 7\n"); got != "a 1\nab 7\nc 3\n" {
		t.Errorf("%q", got)
	}
	const head = "queuename qtype resv/used/tot. load_avg arch states\n----\n"
	for state, want := range map[string]bool{
		head: false,
		head + "all.q@gridengine               B     0/0/64         22.61    lx-amd64      \n":   true,
		head + "all.q@gridengine               B     0/0/64         -NA-     lx-amd64      au\n": false,
		head + "all.q@gridengine               B     0/0/64         -NA-     lx-amd64      \n":   false,
	} {
		if gridEngineReady(state) != want {
			t.Errorf("ready %v: %q", !want, state)
		}
	}
	const record = "all.q:gridengine:root:root:script:1:sge:0:1795416219:1795416276:1795416276:%:0:0.000000"
	for line, want := range map[string]string{
		strings.Replace(record, "%", "0:0", 1):   "true ",
		strings.Replace(record, "%", "0:137", 1): "true failed 0, exit status 137",
		strings.Replace(record, "%", "21:0", 1):  "true failed 21",
		"# Version: 6.2":                         "false ",
	} {
		why, ok := gridEngineRecord(line)
		if got := strconv.FormatBool(ok) + " " + why; !strings.HasPrefix(got, want) {
			t.Errorf("%q, want %q of %s", got, want, line)
		}
	}
}
