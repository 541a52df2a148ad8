package guard

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/await"
)

// unruly starts children in the group, outside it, below those, and without the
// mark, and writes all their pids.
const unruly = `
live='echo $$ >> pids; while :; do sleep 0.01; done'
sh -c "$live" &
setsid sh -c "$live" &
(setsid sh -c "setsid sh -c '$live' & $live" &)
env -i setsid sh -c "PATH=$PATH; $live" &
trap "" TERM
echo $$ >> pids
while :; do sleep 0.01; done`

const unrulyPids = 6

// TestNodeMonitorKilled is the promise of the guard: kill -9 of the node monitor
// ends every process, wherever it went, and then the guard.
func TestNodeMonitorKilled(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command("/proc/self/exe", "victim", "cd "+dir+"; "+unruly)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var kind EventKind
	var leader int
	if _, err := fmt.Fscan(bufio.NewReader(out), &kind, &leader); err != nil || kind != Started {
		t.Fatalf("the victim sent event %d (%v), want the start", kind, err)
	}
	family := append(readPids(t, dir+"/pids", unrulyPids), leader, parentOf(leader))
	for _, pid := range family {
		if state(pid) == "" {
			t.Fatalf("process %d had ended before the kill", pid)
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	for _, pid := range family {
		await.Until(t, fmt.Sprintf("process %d is gone", pid), func() bool { return state(pid) == "" })
	}
}

// TestGuardKilled: without its guard an attempt is lost and its processes end, except
// for one that also wiped the mark; the next attempt gets a new guard.
func TestGuardKilled(t *testing.T) {
	var guards atomic.Int32
	c := New(Options{Started: func(int) { guards.Add(1) }})
	defer c.Close(0)
	s := shell(`live='echo $$ >> pids; while :; do sleep 0.01; done'; sh -c "$live" & setsid sh -c "$live" & eval "$live"`)
	s.Dir = t.TempDir()
	r := start(t, c, s)
	leader := r.pid()
	family := append(readPids(t, s.Dir+"/pids", 3), leader)
	if err := syscall.Kill(parentOf(leader), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if e := r.end(); e.Kind != Lost || e.Fault.What == "" {
		t.Errorf("ended as %+v", e)
	}
	for _, pid := range family {
		await.Until(t, "the process is gone", func() bool { return state(pid) == "" })
	}
	if e := start(t, c, shell("exit 3")).end(); e.Status.ExitStatus() != 3 {
		t.Errorf("under the new guard: %+v", e)
	}
	if n := guards.Load(); n != 2 {
		t.Errorf("%d guards were started, want 2", n)
	}
}

func TestGuardThatCannotServe(t *testing.T) {
	for _, command := range []string{"/no/such/binary", "/bin/true"} {
		c := New(Options{Command: []string{command}})
		for range 3 {
			if e := start(t, c, shell("exit 0")).end(); e.Kind != Lost || e.Fault.Next == "" {
				t.Errorf("with %s: %+v", command, e)
			}
		}
		c.Close(0)
	}
}

func TestMainRefusesToRunByHand(t *testing.T) {
	cmd := exec.Command("/proc/self/exe", Verb)
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() != 2 || len(out) == 0 {
		t.Errorf("got %v, %q", err, out)
	}
}

func TestGuardOutlivesSignalsMeantForTheNodeMonitor(t *testing.T) {
	c := client(t)
	r := start(t, c, shell("sleep 1000"))
	guard := parentOf(r.pid())
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		if err := syscall.Kill(guard, s); err != nil {
			t.Fatal(err)
		}
	}
	if e := start(t, c, shell("exit 0")).end(); e.Kind != Ended {
		t.Errorf("after the signals: %+v", e)
	}
	// A child does not inherit that: SIGTERM ends it.
	c.Kill(r.handle, time.Hour)
	if e := r.end(); e.Status.Signal() != syscall.SIGTERM {
		t.Errorf("ended as %+v", e)
	}
}

func TestCloseEndsEverything(t *testing.T) {
	var guard atomic.Int32
	c := New(Options{Started: func(pid int) { guard.Store(int32(pid)) }})
	s := shell(unruly)
	s.Dir = t.TempDir()
	r := start(t, c, s)
	family := readPids(t, s.Dir+"/pids", unrulyPids)
	c.Close(10 * time.Millisecond)
	c.Close(0)
	if e := r.end(); !e.Killed {
		t.Errorf("ended as %+v", e)
	}
	for _, pid := range append(family, int(guard.Load())) {
		if state(pid) != "" {
			t.Errorf("process %d is there after Close", pid)
		}
	}
	if _, err := c.Start(shell("true"), func(Event) {}); !errors.Is(err, ErrClosed) {
		t.Errorf("Start after Close gave %v", err)
	}
}

// TestNoZombies runs many short families and looks for what was not reaped.
func TestNoZombies(t *testing.T) {
	c := client(t)
	keeper := start(t, c, shell("sleep 1000"))
	guard := parentOf(keeper.pid())
	var runs []*run
	for range 200 {
		runs = append(runs, start(t, c, shell(`(sleep 0 & sleep 0 &); (setsid sleep 0 &); exit 0`)))
	}
	for _, r := range runs {
		if e := r.end(); e.Kind != Ended || e.Status != 0 {
			t.Errorf("ended as %+v %+v", e, e.Fault)
		}
	}
	await.Until(t, "the guard has one child left", func() bool { return len(childrenOf(guard)) == 1 })
	for _, pid := range pids() {
		if p := parentOf(pid); state(pid) == "Z" && (p == guard || p == os.Getpid()) {
			t.Errorf("process %d is a zombie", pid)
		}
	}
}

func TestLimitOfProcesses(t *testing.T) {
	c := New(Options{MaxRunning: 1})
	defer c.Close(0)
	next := make(chan error, 1)
	first, err := c.Start(shell("sleep 1000"), func(e Event) {
		if e.Kind.last() { // it has ended: the next one, which its caller starts then, has its place
			_, err := c.Start(shell("true"), func(Event) {})
			next <- err
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Start(shell("true"), func(Event) {}); err == nil {
		t.Error("a second process was taken over the limit of 1")
	}
	c.Kill(first, 0)
	if err := <-next; err != nil {
		t.Errorf("at the end of the first: %v", err)
	}
}
