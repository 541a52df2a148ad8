package guard

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/await"
	"github.com/pigeon-sched/pigeon/internal/files"
)

// Two users that no machine has, so that what a test does to all their processes affects no others.
const alice, bob = 61_234, 61_235

// asRoot skips a test that becomes other users.
func asRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can run processes as other users")
	}
}

// passable returns a new folder that others may pass, as those of tests may not.
func passable(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, folder := range []string{filepath.Dir(dir), dir} {
		if err := os.Chmod(folder, files.Passable); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// owned is a script of a user in a folder of its own, with its outputs next to the folder.
func owned(dir string, uid uint32, script string) Spec {
	s := shell(script)
	s.Dir, s.MakeDir = filepath.Join(dir, fmt.Sprint("of-", uid)), true
	s.As = &User{UID: uid, GID: uid, Groups: []uint32{uid, 61_299}}
	s.Stdout, s.Stderr = s.Dir+".out", s.Dir+".err"
	return s
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestRunsAsTheUser: user, groups, umask and folder are the user's, and no program has more rights.
func TestRunsAsTheUser(t *testing.T) {
	asRoot(t)
	t.Setenv("SECRET_OF_THE_NODE", "x")
	dir := passable(t)
	s := owned(dir, alice, `id -u; id -g; id -G; umask; pwd; stat -c %a:%u .; grep NoNewPrivs /proc/self/status; touch file; stat -c %a:%u file; env | grep -c SECRET`)
	e := start(t, client(t), s).end()
	want := fmt.Sprintf("%d\n%d\n%d 61299\n0077\n%s\n700:%d\nNoNewPrivs:\t1\n600:%d\n0\n", alice, alice, alice, s.Dir, alice, alice)
	if got := read(t, s.Stdout); got != want {
		t.Errorf("it printed %q, want %q (%+v)", got, want, e)
	}
	if info, err := os.Stat(s.Stdout); err != nil || info.Mode().Perm() != 0o600 || info.Sys().(*syscall.Stat_t).Uid != 0 {
		t.Errorf("the output is %v, %v", info, err)
	}
}

// TestSetuidProgramsGainNothing: a shell that is setuid root runs as its caller.
func TestSetuidProgramsGainNothing(t *testing.T) {
	asRoot(t)
	dir := passable(t)
	id, err := os.ReadFile("/usr/bin/id")
	if err != nil {
		t.Skip(err)
	}
	if err := os.WriteFile(dir+"/id", id, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir+"/id", 0o755|os.ModeSetuid); err != nil {
		t.Fatal(err)
	}
	s := owned(dir, alice, dir+"/id -u")
	start(t, client(t), s).end()
	if got := strings.TrimSpace(read(t, s.Stdout)); got != fmt.Sprint(alice) {
		t.Errorf("a setuid program of root ran as %q", got)
	}
}

// TestProgramsAndFoldersAreTheUsers: root's rights find nothing that the user would not find.
func TestProgramsAndFoldersAreTheUsers(t *testing.T) {
	asRoot(t)
	dir := passable(t)
	for name, mode := range map[string]os.FileMode{"secret": 0o700, "open": 0o755} {
		if err := os.Mkdir(filepath.Join(dir, name), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name, "program"), []byte("#!/bin/sh\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	closed := filepath.Join(dir, "secret")
	c := client(t)
	for _, tc := range []struct {
		change func(*Spec)
		want   string
	}{
		{func(s *Spec) { s.Dir, s.MakeDir = dir+"/secret", false }, "may not enter its working folder"},
		{func(s *Spec) { s.Argv = []string{dir + "/secret/program"} }, "permission denied"},
		{func(s *Spec) { s.Argv = []string{dir + "/open/program"} }, "may not run the program"},
		{func(s *Spec) { s.Argv, s.Env = []string{"program"}, []string{"PATH=" + dir + "/secret"} }, "was not found"},
		{func(s *Spec) { s.Dir = closed + "/own" }, "a folder above it is closed"},
	} {
		s := owned(dir, alice, "true")
		tc.change(&s)
		e := start(t, c, s).end()
		if e.Kind != Refused || !strings.Contains(e.Fault.What, tc.want) || !strings.Contains(e.Fault.What, "user") && tc.want == "may not" {
			t.Errorf("got %+v %+v, want a refusal with %q", e, e.Fault, tc.want)
		}
	}
}

// TestUsersCannotReachEachOther: bob's process neither reads nor ends alice's, and does not reach
// the guard.
func TestUsersCannotReachEachOther(t *testing.T) {
	asRoot(t)
	dir := passable(t)
	c := New(Options{Grace: await.Limit, Folder: dir, Owner: "test"})
	t.Cleanup(func() { c.Close(0) })
	a := owned(dir, alice, `echo secret > file; echo output; sleep 1000`)
	a.Env = []string{"KEY=secret"}
	r := start(t, c, a)
	pid := r.pid()
	await.Until(t, "alice has written", func() bool { _, err := os.Stat(a.Stdout); return err == nil })
	b := owned(dir, bob, fmt.Sprintf(`
		for try in "cat %[1]s/file" "ls %[1]s" "touch %[1]s/x" "cat %[1]s.out" "cat /proc/%[2]d/environ" "ls /proc/%[2]d/fd" \
			"kill -9 %[2]d" "kill -STOP %[2]d" "ls %[3]s" "touch %[3]s/x" "mv %[1]s %[3]s/moved" "ln -s /etc/passwd %[1]s.err"; do
			$try >/dev/null 2>&1 && echo "$try worked"
		done
		if command -v python3 >/dev/null; then
			python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])' %[3]s/guard.socket 2>/dev/null && echo "the guard was reached"
		fi
		cat %[4]s.out >/dev/null 2>&1 && echo "its own output was read"
		echo done`, a.Dir, pid, dir, filepath.Join(dir, fmt.Sprint("of-", bob))))
	start(t, c, b).end()
	if got := read(t, b.Stdout); got != "done\n" {
		t.Errorf("bob reached something of alice's or the guard's:\n%s", got)
	}
	if s := state(pid); s != "S" {
		t.Errorf("alice's process is in state %q", s)
	}
	c.Kill(r.handle, 0)
	if e := r.end(); !e.Killed {
		t.Errorf("alice's process ended as %+v", e)
	}
}

// TestNothingOfAUserOutlivesItsAttempt: root's guard finds and kills what left its group, and
// removes the folder with whatever lies there.
func TestNothingOfAUserOutlivesItsAttempt(t *testing.T) {
	asRoot(t)
	dir := passable(t)
	s := owned(dir, alice, `mkdir -p deep/er; ln -s / deep/root; chmod 0 deep; (setsid sh -c 'echo $$ > pids; sleep 1000' &); while [ ! -s pids ]; do sleep 0.01; done`)
	start(t, client(t), s).end()
	pid := readPids(t, s.Dir+"/pids", 1)[0]
	await.Until(t, "the process is gone", func() bool { return state(pid) == "" })
	if err := files.RemoveAll(dir, filepath.Base(s.Dir)); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat("/etc"); err != nil {
		t.Fatal("a link was followed")
	}
}

// A process with a user of its own cannot signal the guard.
func TestAUserCannotSignalTheGuard(t *testing.T) {
	asRoot(t)
	c, dir := client(t), passable(t)
	e := start(t, c, owned(dir, alice, "for s in KILL STOP TERM; do kill -$s $PPID && exit 9; done; kill -9 -1; exit 3")).end()
	if e.Kind != Ended || e.Status.ExitStatus() == 9 {
		t.Errorf("ended as %+v", e)
	}
}

// TestAUserCannotStopTheGuard: a process that repeatedly stops all processes of its user also stops
// them while they are being started, and the guard with them. Processes of other users still start.
func TestAUserCannotStopTheGuard(t *testing.T) {
	asRoot(t)
	dir := passable(t)
	c := client(t)
	hammer := owned(dir, alice, `while :; do kill -STOP -1; done`)
	h := start(t, c, hammer)
	h.pid()
	var stopped []*run
	for i := range 100 {
		s := owned(dir, alice, "sleep 1000")
		s.Dir = fmt.Sprintf("%s-%d", s.Dir, i)
		stopped = append(stopped, start(t, c, s))
		if i%10 == 0 {
			s := owned(dir, bob, "echo here")
			s.Dir, s.Stdout = fmt.Sprintf("%s-%d", s.Dir, i), fmt.Sprintf("%s-%d.out", s.Dir, i)
			if e := start(t, c, s).end(); e.Kind != Ended || e.Status != 0 || read(t, s.Stdout) != "here\n" {
				t.Fatalf("bob's process ended as %+v %+v", e, e.Fault)
			}
		}
	}
	for _, r := range append(stopped, h) {
		c.Kill(r.handle, 0)
	}
	for _, r := range append(stopped, h) {
		r.end()
	}
}
