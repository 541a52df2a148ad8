package guard

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/await"
)

func TestEndsAreTold(t *testing.T) {
	c := client(t)
	for _, tc := range []struct {
		script string
		exit   int
		signal syscall.Signal
	}{
		{"exit 0", 0, 0},
		{"exit 7", 7, 0},
		{"kill -SEGV $$", -1, syscall.SIGSEGV},
		{"kill -9 $$", -1, syscall.SIGKILL},
	} {
		e := start(t, c, shell(tc.script)).end()
		if e.Kind != Ended || e.Killed || e.Ran <= 0 || e.Status.ExitStatus() != tc.exit || tc.exit < 0 && e.Status.Signal() != tc.signal {
			t.Errorf("%q ended as %+v", tc.script, e)
		}
	}
}

// A guard that was started before the first process serves it, and is the only one.
func TestGuardBeforeTheFirstProcess(t *testing.T) {
	guards := make(chan int, 3)
	c := New(Options{Started: func(pid int) { guards <- pid }})
	t.Cleanup(func() { c.Close(0) })
	c.StartGuard()
	c.StartGuard()
	var guard int
	select {
	case guard = <-guards:
	case <-time.After(await.Limit):
		t.Fatal("no guard was started")
	}
	r := start(t, c, shell("exec sleep 1000"))
	if parent := parentOf(r.pid()); parent != guard || len(guards) > 0 {
		t.Errorf("the process is a child of %d, and the guard is %d; %d more guards", parent, guard, len(guards))
	}
}

// Where no guard can be started, the first process reports why.
func TestGuardThatCannotBeStarted(t *testing.T) {
	c := New(Options{Command: []string{filepath.Join(t.TempDir(), "missing")}})
	t.Cleanup(func() { c.Close(0) })
	c.StartGuard()
	if e := start(t, c, shell("exit 0")).end(); e.Kind != Lost || !strings.Contains(e.Fault.What, "could not be started") {
		t.Errorf("ended as %+v", e)
	}
}

func TestRefusalsSayWhy(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{"script": "no interpreter", "plain": ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "bad"), []byte("\x00\x01"), 0o700); err != nil {
		t.Fatal(err)
	}
	c := client(t)
	for _, tc := range []struct {
		spec Spec
		want string
	}{
		{Spec{Dir: dir}, "names no program"},
		{Spec{Argv: []string{"no-such-program"}, Dir: dir}, `"no-such-program" was not found in the PATH`},
		{Spec{Argv: []string{"/no/such/program"}, Dir: dir}, `"/no/such/program" does not exist`},
		{Spec{Argv: []string{"./plain"}, Dir: dir}, "may not run the program"},
		{Spec{Argv: []string{"plain"}, Dir: dir, Env: []string{"PATH=" + dir}}, "may not run the program"},
		{Spec{Argv: []string{"./bad"}, Dir: dir}, "exec format error"},
		{Spec{Argv: []string{dir}, Dir: dir}, "is a folder"},
		{Spec{Argv: []string{"true"}, Dir: dir + "/missing"}, "does not exist on this node"},
		{Spec{Argv: []string{"true"}, Dir: dir + "/plain"}, "is not a folder"},
		{Spec{Argv: []string{"true"}, Dir: dir + "/plain/x", MakeDir: true}, "could not be made"},
		{Spec{Argv: []string{"true", strings.Repeat("x", 1<<20)}, Dir: dir}, "argument list too long"},
		{Spec{Argv: []string{"true", "a\x00b"}, Dir: dir}, "invalid argument"},
	} {
		e := start(t, c, tc.spec).end()
		if e.Kind != Refused || !strings.Contains(e.Fault.What, tc.want) || e.Fault.Next == "" {
			t.Errorf("%.40q: got %+v %+v, want a refusal with %q", tc.spec.Argv, e, e.Fault, tc.want)
		}
	}
}

func TestEnvironmentFolderAndOutput(t *testing.T) {
	t.Setenv("FROM_NODE", "node")
	t.Setenv("BOTH", "node")
	out := filepath.Join(t.TempDir(), "out")
	s := shell(`echo "$FROM_NODE $BOTH $PWD"; cat; [ -t 0 ] || echo quiet; echo oops >&2`)
	s.Env, s.Dir, s.Stdout = []string{"BOTH=x", "BOTH=task"}, "/usr", out
	e := start(t, client(t), s).end()
	text, err := os.ReadFile(out)
	if err != nil || string(text) != " task /usr\nquiet\n" {
		t.Errorf("stdout is %q (%v)", text, err)
	}
	if string(e.Tail) != "oops\n" {
		t.Errorf("tail of stderr is %q", e.Tail)
	}
	if e.Output[0].Kept != int64(len(text)) || e.Output[1].Dropped != 5 {
		t.Errorf("streams are reported as %+v", e.Output)
	}
}

// TestKillEndsTheGroup has a leader that dies of SIGTERM at once and a child that
// has something to save first: it gets the grace.
func TestKillEndsTheGroup(t *testing.T) {
	dir := t.TempDir()
	s := shell(`sh -c 'trap "echo saved > saved; exit" TERM; echo $$ > pids; while :; do sleep 0.01; done' & wait`)
	s.Dir = dir
	c := client(t)
	r := start(t, c, s)
	child := readPids(t, dir+"/pids", 1)[0]
	c.Kill(r.handle, 15*time.Second)
	if e := r.end(); !e.Killed {
		t.Errorf("ended as %+v", e)
	}
	if _, err := os.Stat(dir + "/saved"); err != nil {
		t.Error("the child was not given its grace")
	}
	await.Until(t, "the child is gone", func() bool { return state(child) == "" })
}

func TestKillIsHardAfterTheGrace(t *testing.T) {
	c := client(t)
	for name, script := range map[string]string{
		"leader":          `trap "" TERM; echo $$ > pids; while :; do sleep 0.01; done`,
		"child":           `sh -c 'trap "" TERM; echo $$ > pids; while :; do sleep 0.01; done' & wait`,
		"stopped":         `echo $$ > pids; kill -STOP $$; while :; do sleep 0.01; done`,
		"own session":     `setsid sh -c 'echo $$ > pids; while :; do sleep 0.01; done' & wait`,
		"daemon":          `(setsid sh -c 'echo $$ > pids; while :; do sleep 0.01; done' &) ; sleep 1000`,
		"no environment":  `env -i setsid -f sh -c 'echo $$ > pids; exec sleep 1000'; sleep 1000`,
		"escaped in turn": `setsid sh -c 'setsid sh -c "echo \$\$ > pids; while :; do sleep 0.01; done" & wait' & wait`,
	} {
		t.Run(name, func(t *testing.T) {
			s := shell(script)
			s.Dir = t.TempDir()
			r := start(t, c, s)
			pid := readPids(t, s.Dir+"/pids", 1)[0]
			c.Kill(r.handle, 20*time.Millisecond)
			if e := r.end(); !e.Killed {
				t.Errorf("ended as %+v", e)
			}
			await.Until(t, "the process is gone", func() bool { return state(pid) == "" })
		})
	}
}

func TestKillBeforeTheStart(t *testing.T) {
	c := client(t)
	for range 20 {
		r := start(t, c, shell("sleep 1000"))
		c.Kill(r.handle, 0)
		if e := r.end(); e.Kind != Ended || !e.Killed {
			t.Fatalf("ended as %+v", e)
		}
	}
	c.Kill(9999, 0) // unknown
}

// TestNothingOutlivesItsAttempt: what a process left in the background ends with it
// when it ends by itself, and open pipes do not hold up its end.
func TestNothingOutlivesItsAttempt(t *testing.T) {
	warned := make(chan string, 16)
	c := New(Options{Log: slog.New(slog.NewTextHandler(lines(warned), nil))})
	t.Cleanup(func() { c.Close(0) })
	for name, script := range map[string]string{
		"group":          `sh -c 'echo $$ > pids; sleep 1000' & while [ ! -s pids ]; do sleep 0.01; done`,
		"no environment": `env -i setsid -f sh -c 'echo $$ > pids; exec sleep 1000'; while [ ! -s pids ]; do sleep 0.01; done`,
		"another tag":    `env -i PATH="$PATH" setsid -f sh -c 'prlimit --pid $$ --locks=1:1; echo $$ > pids; exec sleep 1000'; while [ ! -s pids ]; do sleep 0.01; done`,
		"escaped":        `setsid sh -c 'echo $$ > pids; exec sleep 1000' & while [ ! -s pids ]; do sleep 0.01; done`,
	} {
		t.Run(name, func(t *testing.T) {
			s := shell(script)
			s.Dir, s.Subject = t.TempDir(), "task "+name
			before := c.Strays()
			e := start(t, c, s).end()
			if e.Killed || e.Status != 0 {
				t.Errorf("ended as %+v", e)
			}
			pid := readPids(t, s.Dir+"/pids", 1)[0]
			await.Until(t, "the process is gone", func() bool { return state(pid) == "" })
			if name == "group" {
				return
			}
			await.Until(t, "it is counted", func() bool { return c.Strays() > before })
			of := s.Subject
			if name == "another tag" {
				of = "an attempt that is not known"
			}
			if line := <-warned; !strings.Contains(line, fmt.Sprintf("of=%q process=%d program=s", of, pid)) {
				t.Errorf("the warning is %s", line)
			}
			if name == "no environment" && e.Strays != 1 { // it had been adopted by the end of the attempt
				t.Errorf("it ended with %d of them", e.Strays)
			}
		})
	}
}

// lines takes what is written.
type lines chan string

func (l lines) Write(p []byte) (int, error) {
	l <- string(p)
	return len(p), nil
}

// TestEscapedStaysWhileItsAttemptRuns: a sweep that kills what escaped from an
// ended attempt spares what escaped from a living one.
func TestEscapedStaysWhileItsAttemptRuns(t *testing.T) {
	c := client(t)
	s := shell(`(env -i PATH="$PATH" setsid sh -c 'echo $$ > pids; while [ ! -e go ]; do sleep 0.01; done; echo ok > answer' &); while [ ! -e answer ]; do sleep 0.01; done`)
	s.Dir = t.TempDir()
	r := start(t, c, s)
	pid := readPids(t, s.Dir+"/pids", 1)[0]
	guard := parentOf(r.pid())
	await.Until(t, "the escaped process is adopted", func() bool { return parentOf(pid) == guard })
	for range 3 {
		o := shell(`setsid sh -c 'echo $$ > pids; sleep 1000' & while [ ! -s pids ]; do sleep 0.01; done`)
		o.Dir = t.TempDir()
		start(t, c, o).end()
		swept := readPids(t, o.Dir+"/pids", 1)[0]
		await.Until(t, "a sweep has passed", func() bool { return state(swept) == "" })
	}
	if err := os.WriteFile(s.Dir+"/go", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if e := r.end(); e.Status != 0 {
		t.Errorf("ended as %+v", e)
	}
}

func TestSuspendAndResume(t *testing.T) {
	c := client(t)
	// Both wait without starting anything: a shell stopped in vfork is in state D.
	s := shell(`sh -c 'echo $$ > pids; read x < go' & wait`)
	s.Dir = t.TempDir()
	if err := syscall.Mkfifo(s.Dir+"/go", 0o600); err != nil {
		t.Fatal(err)
	}
	r := start(t, c, s)
	leader := r.pid()
	child := readPids(t, s.Dir+"/pids", 1)[0]
	both := func(letters string) func() bool {
		return func() bool {
			return strings.Contains(letters, state(leader)) && strings.Contains(letters, state(child))
		}
	}
	for range 3 {
		if !c.Suspend(r.handle) {
			t.Fatal("a running process was not suspended")
		}
		await.Until(t, "both are stopped", both("T"))
		if !c.Resume(r.handle) {
			t.Fatal("a suspended process was not resumed")
		}
		await.Until(t, "both go on", both("SR"))
	}
	if err := os.WriteFile(s.Dir+"/go", []byte("\n"), 0); err != nil {
		t.Fatal(err)
	}
	if e := r.end(); e.Status != 0 || e.Killed {
		t.Errorf("ended as %+v", e)
	}
	if c.Suspend(r.handle) || c.Resume(r.handle) {
		t.Error("an ended process was suspended or resumed")
	}
}

func TestSuspendBeforeTheStart(t *testing.T) {
	c := client(t)
	r := start(t, c, Spec{Argv: []string{"sleep", "1000"}})
	c.Suspend(r.handle)
	pid := r.pid()
	await.Until(t, "it is stopped", func() bool { return state(pid) == "T" })
	c.Kill(r.handle, time.Hour) // SIGTERM reaches a stopped process, too
	if e := r.end(); !e.Killed || e.Status.Signal() != syscall.SIGTERM {
		t.Errorf("ended as %+v", e)
	}
}
