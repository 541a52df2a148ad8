package process

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/await"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/nodemonitor/accounts"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend/guard"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend/logs"
)

// TestMain makes the test binary its own guard.
func TestMain(m *testing.M) {
	guard.Register()
	// A guard built with -race would otherwise sleep for a second before it exits.
	if err := os.Setenv("GORACE", "atexit_sleep_ms=0 "+os.Getenv("GORACE")); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

// node is a backend with what belongs to it.
type node struct {
	*Backend
	guard *guard.Client
	logs  *logs.Store
	root  string // of the logs
}

func newNode(t testing.TB, opts guard.Options, change ...func(*logs.Config)) *node {
	t.Helper()
	root := t.TempDir()
	cfg := logs.Config{Root: root, Passable: true}
	for _, c := range change {
		c(&cfg)
	}
	store, err := logs.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	g := guard.New(opts)
	b := New(Config{Guard: g, Logs: store, Accounts: accounts.Own(), Node: "n1", Grace: 50 * time.Millisecond, Limit: 1000})
	t.Cleanup(func() {
		b.Close()
		b.Close()
		g.Close(0)
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return &node{b, g, store, root}
}

func id(n int) sched.AttemptID {
	return sched.AttemptID{Job: sched.NewJobID("f", "nightly"), Task: int32(n), Attempt: 2}
}

func task(n int, argv ...string) backend.Task {
	return backend.Task{
		ID: id(n), JobName: "nightly", TaskName: "part-a", Slot: 5,
		Payload: api.Payload{Backend: api.BackendExec, Exec: &api.Exec{Argv: argv}},
	}
}

// run starts the task and waits for its end.
func (n *node) run(t testing.TB, k backend.Task) backend.Result {
	t.Helper()
	end := make(chan backend.Result, 1)
	n.Start(k, func(r backend.Result) { end <- r })
	return <-end
}

func TestOutcomes(t *testing.T) {
	n := newNode(t, guard.Options{})
	noInterpreter, noFormat := filepath.Join(t.TempDir(), "a"), filepath.Join(t.TempDir(), "b")
	for path, text := range map[string]string{noInterpreter: "#!/no/such/interpreter\n", noFormat: "no program\n"} {
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil { //nolint:gosec // it is to be run
			t.Fatal(err)
		}
	}
	for i, tc := range []struct {
		argv    []string
		outcome sched.Outcome
		code    int
		reason  string
	}{
		{[]string{"true"}, sched.Done, 0, ""},
		{[]string{"sh", "-c", "exit 3"}, sched.Failed, 3, "it exited with status 3"},
		{[]string{"sh", "-c", "kill -USR1 $$"}, sched.Failed, 128 + 10, "it was ended by signal 10 (SIGUSR1)"},
		{[]string{"no-such-program"}, sched.Failed, 127, "was not found in the PATH"},
		{[]string{"/no/such/program"}, sched.Failed, 127, "does not exist on this node"},
		{[]string{"/etc/passwd/program"}, sched.Failed, 127, "does not exist on this node"},
		{[]string{"/etc/passwd"}, sched.Failed, 126, "may not run the program"},
		{[]string{"/etc"}, sched.Failed, 126, "is a folder"},
		{[]string{noInterpreter}, sched.Failed, 127, "could not be started"},
		{[]string{noFormat}, sched.Failed, 126, "could not be started"},
		{nil, sched.Failed, 0, "it names no program"},
	} {
		r := n.run(t, task(i, tc.argv...))
		if r.ID != id(i) || r.Outcome != tc.outcome || r.ExitCode != tc.code || !strings.Contains(r.Reason, tc.reason) || (r.Reason == "") != (tc.reason == "") {
			t.Errorf("%q ended as %+v", tc.argv, r)
		}
		if began := strings.HasPrefix(tc.reason, "it exited") || strings.HasPrefix(tc.reason, "it was") || tc.reason == ""; began == r.Started.IsZero() || r.Finished.Before(r.Started) {
			t.Errorf("%q ran from %v to %v", tc.argv, r.Started, r.Finished)
		}
	}
}

// A result says that something was killed which the attempt had left running.
func TestLeftRunning(t *testing.T) {
	n := newNode(t, guard.Options{})
	for i, want := range []string{"a process that it had left running", "; 2 processes that it had left running"} {
		left := strings.Repeat("env -i setsid -f sh -c ': > left; exec sleep 1000'; while [ ! -e left ]; do sleep 0.01; done; rm left; ", i+1)
		if r := n.run(t, task(i, "sh", "-c", fmt.Sprintf("%s exit %d", left, i))); !strings.Contains(r.Reason, want) || r.ExitCode != i {
			t.Errorf("it ended as %+v, want %q", r, want)
		}
	}
}

// A result states which bytes of the output could not be kept, that of a task that failed too: where
// its disk takes nothing more, nothing else does.
func TestOutputThatCannotBeKept(t *testing.T) {
	n := newNode(t, guard.Options{})
	for i, outcome := range []sched.Outcome{sched.Done, sched.Failed} {
		// In place of the folder of its job, as a disk that takes no file.
		script := fmt.Sprintf(`j=$(dirname "$PWD"); cd / && rm -r "$j" && : > "$j" && echo lost; exit %d`, i)
		k := task(i, "sh", "-c", script)
		k.ID.Job = sched.NewJobID("f", script)
		r := n.run(t, k)
		if r.Outcome != outcome || !strings.Contains(r.Reason, "5 bytes of its stdout are not kept, and 0 are: ") {
			t.Errorf("it ended as %+v, want %v", r, outcome)
		}
	}
}

// A task that may not run here as its submitter has a code of its own.
func TestNotAllowed(t *testing.T) {
	n := newNode(t, guard.Options{})
	as, err := accounts.New(accounts.Config{RunAs: accounts.Submitter})
	if err != nil {
		t.Fatal(err)
	}
	n.cfg.Accounts = as
	if r := n.run(t, task(1, "true")); r.Outcome != sched.Failed || r.Code != api.CodeNotAllowed || !strings.Contains(r.Reason, "nobody has proven who submitted it") || !r.Started.IsZero() {
		t.Errorf("a task of a submitter who has proven nothing ended as %+v", r)
	}
	n.cfg.Accounts = accounts.Own()
	if r := n.run(t, task(2, "false")); r.Code != "" {
		t.Errorf("a task that fails by itself has the code %q", r.Code)
	}
}

// TestReasonHasFourParts: what, to whom, what was tried, what to do.
func TestReasonHasFourParts(t *testing.T) {
	k := task(7, "true")
	k.Payload.Exec.Dir = "/no/such/folder"
	r := newNode(t, guard.Options{}).run(t, k)
	for _, part := range []string{
		`"/no/such/folder" does not exist`, `task 7 ("part-a") on node "n1"`, `running "true"`, "give a folder that exists on every node",
	} {
		if !strings.Contains(r.Reason, part) {
			t.Errorf("the reason %q lacks %q", r.Reason, part)
		}
	}
	k = task(8, "true")
	k.Payload.Exec.Dir = "somewhere"
	if r := (newNode(t, guard.Options{})).run(t, k); r.Outcome != sched.Failed || !strings.Contains(r.Reason, "not a full path") {
		t.Errorf("a relative folder gave %+v", r)
	}
}

// The reason of a program that failed is a line: the task, how it ended, what it said last and where the rest is.
func TestReasonQuotesTheLastLine(t *testing.T) {
	n := newNode(t, guard.Options{})
	for i, c := range []struct{ script, want string }{
		{"echo out; echo first >&2; printf 'no such table: users\\033[0m\\n\\n' >&2; exit 3", "task 0 (\"part-a\") on node \"n1\": it exited with status 3; its stderr ends: no such table: users [0m; read it all with `pigeon logs nightly --task 0 --attempt 2 --stderr`"},
		{"echo out; exit 4", "task 1 (\"part-a\") on node \"n1\": it exited with status 4; read its output with `pigeon logs nightly --task 1 --attempt 2`"},
		{"exit 5", "task 2 (\"part-a\") on node \"n1\": it exited with status 5; it wrote nothing; run it by hand on that node to see why"},
		{"printf '%3000s' x >&2; kill -USR1 $$", "task 3 (\"part-a\") on node \"n1\": it was ended by signal 10 (SIGUSR1); its stderr ends: x; read it all with `pigeon logs nightly --task 3 --attempt 2 --stderr`"},
	} {
		if r := n.run(t, task(i, "sh", "-c", c.script)); r.Reason != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.script, r.Reason, c.want)
		}
	}
	if got := lastSaid([]byte(strings.Repeat("long ", 800))); len(got) > 300 {
		t.Errorf("%d bytes", len(got))
	}
}

func TestEnvironmentAndLogs(t *testing.T) {
	t.Setenv("PIGEON_POLICY", "hawk") // of the node monitor
	n := newNode(t, guard.Options{})
	k := task(7, "sh", "-c", `echo $PIGEON_JOB $PIGEON_TASK $PIGEON_TASK_ID $PIGEON_ATTEMPT $PIGEON_NODE $PIGEON_SLOT $MINE $PIGEON_FRONTEND ${PIGEON_POLICY-none}; ls -A; touch x; printf '%200000s' end >&2`)
	k.Payload.Exec.Env, k.Frontend = []string{"MINE=m", "PIGEON_JOB=forged"}, "f:1"
	r := n.run(t, k)
	out, err := n.logs.Read(id(7), logs.Stdout, 0, 0)
	if err != nil || string(out.Data) != "nightly 7 part-a 2 n1 5 m f:1 none\n" || !out.Ended {
		t.Errorf("stdout is %q, ended %v (%v)", out.Data, out.Ended, err)
	}
	errs, err := n.logs.Read(id(7), logs.Stderr, 1000, 0)
	const gap = 200_000 - 1000 - 64<<10
	if err != nil || errs.Missing != gap || len(errs.Data) != 0 || errs.Size != 200_000 || !strings.Contains(errs.Why, "output_limit") {
		t.Errorf("after its limit stderr is %+v (%v)", errs, err)
	}
	end, err := n.logs.Read(id(7), logs.Stderr, 1000+gap, 0)
	if err != nil || len(end.Data) != 64<<10 || !strings.HasSuffix(string(end.Data), " end") || end.Missing != 0 {
		t.Errorf("the end of stderr has %d bytes (%v)", len(end.Data), err)
	}
	if len(r.Tail) != 4096 || r.Outcome != sched.Done {
		t.Errorf("ended as %v with a tail of %d", r.Outcome, len(r.Tail))
	}
}

func TestKillSuspendResume(t *testing.T) {
	n := newNode(t, guard.Options{})
	end := make(chan backend.Result, 1)
	n.Start(task(1, "sleep", "1000"), func(r backend.Result) { end <- r })
	for _, f := range []func(sched.AttemptID) error{n.Suspend, n.Suspend, n.Resume, n.Suspend} {
		if err := f(id(1)); err != nil {
			t.Fatal(err)
		}
	}
	var second backend.Result
	n.Start(task(1, "true"), func(r backend.Result) { second = r })
	if second.Outcome != sched.Failed {
		t.Errorf("a second start gave %+v", second)
	}
	n.Kill(id(1))
	n.Kill(id(2)) // unknown
	if r := <-end; r.Outcome != sched.Killed || r.ExitCode != 0 && r.ExitCode != 128+15 && r.ExitCode != 128+9 {
		t.Errorf("ended as %+v", r)
	}
	if n.Suspend(id(2)) == nil || n.Resume(id(2)) == nil {
		t.Error("an unknown attempt was suspended or resumed")
	}
}

func TestTwoHundredAtOnce(t *testing.T) {
	n := newNode(t, guard.Options{})
	var wg sync.WaitGroup
	var mu sync.Mutex
	seen := map[int32]int{}
	dir := t.TempDir()
	const all = 200
	for i := range all {
		wg.Add(1)
		// Each waits until all are there, which proves that they run at once.
		script := fmt.Sprintf(`touch %s/%d; until [ -e %s/go ]; do sleep 0.05; done; exit $((PIGEON_TASK %% 3))`, dir, i, dir)
		n.Start(task(i, "sh", "-c", script), func(r backend.Result) {
			mu.Lock()
			defer mu.Unlock()
			seen[r.ID.Task]++
			if want := int(r.ID.Task % 3); r.ExitCode != want {
				t.Errorf("task %d exited with %d: %s", r.ID.Task, r.ExitCode, r.Reason)
			}
			wg.Done()
		})
	}
	var names []os.DirEntry
	await.Until(t, fmt.Sprintf("%d run", all), func() bool {
		var err error
		if names, err = os.ReadDir(dir); err != nil {
			t.Fatal(err)
		}
		return len(names) == all
	}, func() string { return fmt.Sprintf("%d run", len(names)) })
	if err := os.WriteFile(dir+"/go", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	for i := range int32(all) {
		if seen[i] != 1 {
			t.Errorf("task %d ended %d times", i, seen[i])
		}
	}
}

func TestGuardGoneIsLost(t *testing.T) {
	pid := make(chan int, 2)
	n := newNode(t, guard.Options{Started: func(p int) { pid <- p }})
	end := make(chan backend.Result, 1)
	n.Start(task(1, "sleep", "1000"), func(r backend.Result) { end <- r })
	if err := syscall.Kill(<-pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if r := <-end; r.Outcome != sched.Lost || !strings.Contains(r.Reason, "guard") {
		t.Errorf("ended as %+v", r)
	}
	if r := n.run(t, task(2, "true")); r.Outcome != sched.Done {
		t.Errorf("the next one ended as %+v", r)
	}
}

func TestCloseEndsEverythingOnce(t *testing.T) {
	n := newNode(t, guard.Options{})
	ends := make(chan backend.Result, 100)
	for i := range 50 {
		n.Start(task(i, "sleep", "1000"), func(r backend.Result) { ends <- r })
	}
	n.Close()
	if len(ends) != 50 {
		t.Errorf("%d of 50 ended when Close returned", len(ends))
	}
	if r := n.run(t, task(99, "true")); r.Outcome != sched.Killed {
		t.Errorf("after Close: %+v", r)
	}
}

// The end of a guard is reported with how many attempts it ended. An attempt with a guard of its own
// ends with that one alone, and ends nothing else with it.
func TestApart(t *testing.T) {
	n := newNode(t, guard.Options{})
	type attempt struct {
		end chan backend.Result
		pid int // of its guard
	}
	begin := func(k int, apart bool) attempt {
		t.Helper()
		file := filepath.Join(t.TempDir(), "guard")
		x := task(k, "sh", "-c", "echo $PPID > "+file+".new; mv "+file+".new "+file+"; exec sleep 1000")
		x.Apart = apart
		a := attempt{end: make(chan backend.Result, 1)}
		n.Start(x, func(r backend.Result) { a.end <- r })
		await.Until(t, "it runs", func() bool {
			text, err := os.ReadFile(file)
			a.pid, _ = strconv.Atoi(strings.TrimSpace(string(text)))
			return err == nil
		})
		return a
	}
	kill := func(list ...attempt) {
		t.Helper()
		for _, a := range list {
			if err := syscall.Kill(a.pid, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
		}
	}
	lost := func(together int, list ...attempt) {
		t.Helper()
		for _, a := range list {
			if r := <-a.end; r.Outcome != sched.Lost || r.Together != together {
				t.Errorf("ended as %+v, want it lost with %d", r, together)
			}
		}
	}
	a, b, c, d := begin(1, false), begin(2, false), begin(3, true), begin(4, true)
	if a.pid != b.pid || c.pid == a.pid || d.pid == a.pid || c.pid == d.pid {
		t.Fatalf("guards %d, %d, %d, %d", a.pid, b.pid, c.pid, d.pid)
	}
	kill(c)
	lost(1, c)
	kill(a)
	lost(2, a, b)
	kill(d)
	lost(1, d)
	f := begin(5, true)
	n.Kill(id(5))
	if r := <-f.end; r.Outcome != sched.Killed || r.Together != 0 {
		t.Errorf("the killed one ended as %+v", r)
	}
	await.Until(t, "its guard has ended", func() bool { return syscall.Kill(f.pid, 0) != nil })
	if x := task(6, "sh", "-c", "exit 4"); true {
		x.Apart = true
		if r := n.run(t, x); r.Outcome != sched.Failed || r.ExitCode != 4 {
			t.Errorf("one that fails by itself ended as %+v", r)
		}
	}
}
