package guard

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pigeon-sched/pigeon/internal/await"
)

// leaser is the verb of a process that holds leases on files: whoever opens one waits until the lease is given back,
// or for 45 s.
const leaser = "hold-leases"

func holdLeases(paths []string) {
	signal.Ignore(syscall.SIGIO) // so that it does not give them back
	for _, path := range paths {
		fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err == nil {
			_, err = unix.FcntlInt(uintptr(fd), unix.F_SETLEASE, unix.F_WRLCK)
		}
		if err != nil {
			fmt.Fprintln(os.Stdout, err)
			os.Exit(1)
		}
	}
	fmt.Fprintln(os.Stdout, "leased")
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// leased has a process hold leases on files as their user until the end of the test.
func leased(t *testing.T, dir string, as *User, paths ...string) {
	t.Helper()
	holder := filepath.Join(dir, "holder")
	if err := copyProgram(os.Args[0], holder); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(holder, append([]string{leaser}, paths...)...)
	if as != nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: as.UID, Gid: as.GID}}
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = in.Close(), cmd.Wait() })
	if line, _ := bufio.NewReader(out).ReadString('\n'); line != "leased\n" {
		t.Skipf("no lease on a file of its own: %s", line)
	}
}

func copyProgram(from, to string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o755) //nolint:gosec // others run it
}

// program makes a copy of a program, of the user if there is one.
func program(t *testing.T, dir, name, text string, as *User) string {
	t.Helper()
	path := filepath.Join(dir, name)
	err := copyProgram("/bin/true", path)
	if text != "" {
		err = os.WriteFile(path, []byte(text), 0o755) //nolint:gosec // others run it
	}
	if err == nil && as != nil {
		err = os.Chown(path, int(as.UID), int(as.GID))
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// TestNobodyWaitsForTheFileOfAnother: programs and interpreters on which their user has a lease do not begin, and
// nothing else waits for that, however much comes behind them: others' processes begin and end, and those are killed.
// They never began.
func TestNobodyWaitsForTheFileOfAnother(t *testing.T) {
	for by, c := range confinedClients(t) {
		t.Run(by, func(t *testing.T) {
			dir := passable(t)
			var attacker, other *User
			if os.Geteuid() == 0 {
				attacker, other = &User{UID: alice, GID: alice}, &User{UID: bob, GID: bob}
			}
			held := program(t, dir, "held", "", attacker)
			script := program(t, dir, "script", "#!"+held+"\n", attacker)
			leased(t, dir, attacker, held)
			var waiting []*run
			for i, argv := range [][]string{{held}, {script}, {"held"}, {held}} {
				s := Spec{Argv: argv, Dir: dir, As: attacker, Env: []string{"PATH=" + dir}}
				if i == 3 {
					s.Limits = Limits{Memory: 1 << 30}
				}
				waiting = append(waiting, start(t, c, s))
			}
			env := strings.Repeat("x", 120_000)
			var others []*run
			for range 12 {
				others = append(others, start(t, c, Spec{Argv: []string{"sh", "-c", "exit 7"}, Dir: "/", As: other, Env: []string{"LONG=" + env}}))
			}
			for _, r := range others {
				if e := r.end(); e.Kind != Ended || e.Status.ExitStatus() != 7 {
					t.Fatalf("another one's process ended as %+v %+v", e, e.Fault)
				}
			}
			for _, r := range waiting {
				select {
				case e := <-r.events:
					if e.Kind != HeldUp {
						t.Fatalf("a process whose program was held had the event %+v %+v", e, e.Fault)
					}
				case <-time.After(await.Limit):
					t.Fatal("that it is held up is not told")
				}
				c.Kill(r.handle, time.Hour)
				if e := r.end(); e.Kind != Ended || !e.Killed || !e.Never {
					t.Errorf("it ended as %+v %+v", e, e.Fault)
				}
			}
		})
	}
}

// TestAdoptionDuringAHungStart: the next client takes over a guard that has such a process, and can end it.
func TestAdoptionDuringAHungStart(t *testing.T) {
	dir := t.TempDir()
	held := program(t, dir, "held", "", nil)
	leased(t, dir, nil, held)
	former := New(options(dir, time.Minute))
	start(t, former, Spec{Argv: []string{held}, Dir: "/", Note: []byte("held")})
	start(t, former, Spec{Argv: []string{"sleep", "1000"}, Dir: "/", Note: []byte("sleep")}).pid() // the guard has both
	former.Leave()
	c, a := adopt(t, dir)
	ends := map[string]Event{}
	var runs []*run
	for _, h := range a.Held {
		if began := string(h.Note) == "sleep"; h.Began != began {
			t.Errorf("of %s it is known that it began: %v", h.Note, h.Began)
		}
		runs = append(runs, claim(t, c, h))
	}
	c.Follow(a)
	for i, r := range runs {
		c.Kill(r.handle, 0)
		ends[string(a.Held[i].Note)] = r.end()
	}
	if e := ends["held"]; !e.Killed || !e.Never || len(ends) != 2 {
		t.Errorf("they ended as %+v", ends)
	}
}

// TestProgramThatIsBeingWritten: a program that is still open for writing begins when it is not any more.
func TestProgramThatIsBeingWritten(t *testing.T) {
	path := program(t, t.TempDir(), "program", "", nil)
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	r := start(t, client(t), Spec{Argv: []string{path}})
	time.AfterFunc(50*time.Millisecond, func() { _ = f.Close() }) // before it is given up
	if e := r.end(); e.Kind != Ended || e.Status != 0 {
		t.Errorf("it ended as %+v %+v", e, e.Fault)
	}
	again, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = again.Close() }()
	if e := start(t, client(t), Spec{Argv: []string{path}}).end(); e.Kind != Refused || !strings.Contains(e.Fault.What, "text file busy") {
		t.Errorf("one that is written for ever ended as %+v %+v", e, e.Fault)
	}
}

// TestOpenFilesOfAProcess: the runtime of the guard raises its own limit of open files, and that of a process is what it
// was; and a process has nothing else open.
func TestOpenFilesOfAProcess(t *testing.T) {
	c := New(Options{Command: []string{"sh", "-c", `ulimit -Sn 123; exec "$0" ` + bySignals, os.Args[0]}})
	t.Cleanup(func() { c.Close(0) })
	s := shell("ulimit -Sn; ls -l /proc/$$/fd | grep -c -e '->'")
	s.Stdout = t.TempDir() + "/out"
	start(t, c, s).end()
	if got := read(t, s.Stdout); got != "123\n3\n" {
		t.Errorf("limit and open files: %q", got)
	}
}

// faults returns the faults of a client's guard as they come.
func faults(t *testing.T, c *Client) (next func() string) {
	list := make(chan Health, 16)
	t.Cleanup(c.Watch(func(h Health) { list <- h }))
	return func() string {
		t.Helper()
		select {
		case h := <-list:
			return h.Fault
		case <-time.After(await.Limit):
			t.Fatal("the health of the guard has not changed")
			return ""
		}
	}
}

// TestGuardThatDoesNotAnswer: a guard that is stopped is noticed, and not killed for it; what was wanted of it meanwhile
// is done when it goes on. One that was killed is noticed, too, and another one is started.
func TestGuardThatDoesNotAnswer(t *testing.T) {
	pids := make(chan int, 2)
	c := New(Options{Started: func(pid int) { pids <- pid }})
	t.Cleanup(func() { c.Close(0) })
	fault := faults(t, c)
	r := start(t, c, shell("sleep 1000"))
	r.pid()
	guard := <-pids
	if err := syscall.Kill(guard, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if f := fault(); !strings.Contains(f, fmt.Sprintf("process %d", guard)) || !strings.Contains(f, "does not answer") {
		t.Errorf("a stopped guard: %q", f)
	}
	env := strings.Repeat("x", 120_000)
	var behind []*run
	for range 12 { // more than its socket holds
		behind = append(behind, start(t, c, Spec{Argv: []string{"true"}, Env: []string{"LONG=" + env}}))
	}
	if err := syscall.Kill(guard, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if f := fault(); f != "" {
		t.Errorf("a guard that goes on: %q", f)
	}
	for _, b := range behind {
		if e := b.end(); e.Kind != Ended || e.Status != 0 {
			t.Errorf("one that waited ended as %+v %+v", e, e.Fault)
		}
	}
	if err := syscall.Kill(guard, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if e := r.end(); e.Kind != Lost {
		t.Errorf("it ended as %+v", e)
	}
	if f := fault(); !strings.Contains(f, "has ended") {
		t.Errorf("a guard that was killed: %q", f)
	}
	if f := fault(); f != "" || <-pids == guard {
		t.Errorf("the next guard: %q", f)
	}
}
