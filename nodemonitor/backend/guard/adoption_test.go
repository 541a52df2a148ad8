package guard

import (
	"bufio"
	"encoding/gob"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/await"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend/cgroup"
)

// options are those of a client whose guard outlives it.
func options(folder string, grace time.Duration) Options {
	return Options{Folder: folder, Grace: grace, Owner: "node n1"}
}

// killVictim starts a node monitor whose guard runs the script and outlives it, kills it once
// the script has written that many pids, and returns the pids of the script's process and of
// the guard.
func killVictim(t *testing.T, folder string, grace time.Duration, script string, pids int) (leader, guard int) {
	t.Helper()
	cmd := exec.Command("/proc/self/exe", "victim", folder, grace.String(), script)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var kind EventKind
	if _, err := fmt.Fscan(bufio.NewReader(out), &kind, &leader); err != nil || kind != Started {
		t.Fatalf("the victim sent event %d (%v), want the start", kind, err)
	}
	guard = parentOf(leader)
	if pids > 0 {
		readPids(t, folder+"/pids", pids)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	return leader, guard
}

// adopt returns a client that has adopted the guard in a folder.
func adopt(t *testing.T, folder string) (*Client, *Adoption) {
	t.Helper()
	c := New(options(folder, time.Minute))
	t.Cleanup(func() { c.Close(0) })
	a, err := c.Adopt()
	if err != nil || a == nil {
		t.Fatalf("adopting: %v, %v", a, err)
	}
	return c, a
}

// claim claims a process.
func claim(t *testing.T, c *Client, h Held) *run {
	r := &run{t: t, handle: h.Handle, events: make(chan Event, 4)}
	c.Claim(h.Handle, "", func(e Event) { r.events <- e })
	return r
}

// TestSuccessorGoesOn: kill -9 of a node monitor ends nothing when the next one comes within
// the grace. It has the note of the running process, its end and the whole output, and
// nothing was started twice.
func TestSuccessorGoesOn(t *testing.T) {
	folder := t.TempDir()
	leader, guard := killVictim(t, folder, time.Minute, "cd "+folder+"; echo $$ >> pids; while [ ! -e go ]; do sleep 0.01; done; exit 7", 1)
	c, a := adopt(t, folder)
	if len(a.Held) != 1 || string(a.Held[0].Note) != "of the victim" || !a.Held[0].Began || a.Held[0].Ran <= 0 || a.Held[0].End != nil {
		t.Fatalf("the guard has kept %+v", a.Held)
	}
	r := claim(t, c, a.Held[0])
	c.Follow(a)
	if err := os.WriteFile(folder+"/go", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if e := r.end(); e.Kind != Ended || e.Status.ExitStatus() != 7 {
		t.Errorf("ended as %+v", e)
	}
	if started := readPids(t, folder+"/pids", 1); len(started) != 1 || started[0] != leader {
		t.Errorf("started %v, want %d once", started, leader)
	}
	next := start(t, c, shell("exit 3")) // under the same guard
	if e := next.end(); e.Status.ExitStatus() != 3 || state(guard) == "" {
		t.Errorf("ended as %+v, the guard is %q", e, state(guard))
	}
}

// TestGuardKilledAfterItsNodeMonitor: what is left when a node monitor and its guard are killed ends when the next
// node monitor of the node starts. Processes of other nodes go on.
func TestGuardKilledAfterItsNodeMonitor(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	const live = `sh -c 'echo $$ >> pids; while :; do sleep 0.01; done' & `
	leader, guard := killVictim(t, dir, time.Minute, "cd "+dir+"; "+live+"setsid "+live+"wait", 2)
	other, _ := killVictim(t, elsewhere, time.Minute, "exec sleep 1000", 0)
	defer func() {
		c, a := adopt(t, elsewhere)
		c.Follow(a) // it is killed when the test ends
	}()
	if err := syscall.Kill(guard, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	await.Until(t, "the guard is gone", func() bool { return state(guard) == "" })
	c := New(options(dir, time.Minute))
	defer c.Close(0)
	if a, err := c.Adopt(); a != nil || err != nil {
		t.Fatalf("adopting: %v, %v", a, err)
	}
	for _, pid := range append(readPids(t, dir+"/pids", 2), leader) {
		await.Until(t, fmt.Sprintf("process %d is gone", pid), func() bool { return state(pid) == "" })
	}
	if state(other) == "" {
		t.Error("the process of the other node has ended")
	}
}

// TestNobodyComesWithinTheGrace: a node monitor that was killed and does not come back takes
// everything with it, once its grace is over.
func TestNobodyComesWithinTheGrace(t *testing.T) {
	dir := t.TempDir()
	leader, guard := killVictim(t, dir, 200*time.Millisecond, "cd "+dir+"; "+unruly, unrulyPids)
	for _, pid := range append(readPids(t, dir+"/pids", unrulyPids), leader, guard) {
		await.Until(t, fmt.Sprintf("process %d is gone", pid), func() bool { return state(pid) == "" })
	}
	c := New(options(dir, time.Minute))
	defer c.Close(0)
	if a, err := c.Adopt(); a != nil || err != nil {
		t.Errorf("adopting what has ended: %v, %v", a, err)
	}
}

// TestLeaveThreeTimes: running processes pass from client to client, with the ends that no
// client saw, suspended processes suspended, and output that was written meanwhile.
func TestLeaveThreeTimes(t *testing.T) {
	folder := t.TempDir()
	c := New(options(folder, time.Minute))
	s := shell(`echo before; while [ ! -e go ]; do sleep 0.01; done; echo after`)
	s.Dir, s.Stdout, s.Note = folder, filepath.Join(folder, "out"), []byte("runs")
	running := start(t, c, s)
	running.pid()
	s = shell("while [ ! -e end ]; do sleep 0.01; done; exit 5")
	s.Dir, s.Note = folder, []byte("ends")
	start(t, c, s).pid()
	s = Spec{Argv: []string{"sleep", "1000"}, Note: []byte("stopped")} // a shell would start it, and could be stopped meanwhile
	stopped := start(t, c, s)
	pid := stopped.pid()
	c.Suspend(stopped.handle)
	await.Until(t, "it is stopped", func() bool { return state(pid) == "T" })
	alone := start(t, c, Spec{Argv: []string{"sleep", "1000"}}) // without a note it ends with its client
	alonePid := alone.pid()
	c.Keep([]byte("kept"))
	c.Leave()
	await.Until(t, "a process without a note is gone", func() bool { return state(alonePid) == "" })
	if _, err := c.Start(shell("true"), func(Event) {}); !errors.Is(err, ErrClosed) {
		t.Errorf("Start after Leave gave %v", err)
	}
	if err := os.WriteFile(folder+"/end", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var last *Client
	for n := range 3 {
		next, a := adopt(t, folder)
		if string(a.Kept) != "kept" {
			t.Errorf("kept is %q", a.Kept)
		}
		if n == 0 {
			byNote := map[string]Held{}
			for _, h := range a.Held {
				byNote[string(h.Note)] = h
			}
			if h := byNote["stopped"]; len(byNote) != 4 || !h.Suspended || h.Stopped <= 0 || h.Stopped > h.Ran {
				t.Errorf("the guard has kept %+v", a.Held)
			}
			ended := claim(t, next, byNote["ends"])
			next.Follow(a)
			if e := ended.end(); e.Status.ExitStatus() != 5 {
				t.Errorf("ended as %+v", e)
			}
		} else {
			next.Follow(a)
		}
		if last = next; n < 2 {
			next.Leave()
		}
	}
	await.Until(t, "the process is stopped all the time", func() bool { return state(pid) == "T" })
	final := New(options(folder, time.Minute))
	if a, err := final.Adopt(); err == nil || a != nil || !strings.Contains(err.Error(), "another node monitor") {
		t.Errorf("a second client at once: %v, %v", a, err)
	}
	final.Close(0)
	last.Leave()
	final, a := adopt(t, folder)
	runs := map[string]*run{}
	for _, h := range a.Held {
		runs[string(h.Note)] = claim(t, final, h)
	}
	final.Follow(a)
	if len(runs) != 2 || !final.Resume(runs["stopped"].handle) {
		t.Fatalf("the guard has kept %+v", a.Held)
	}
	await.Until(t, "it goes on", func() bool { return strings.Contains("SR", state(pid)) })
	if err := os.WriteFile(folder+"/go", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if e := runs["runs"].end(); e.Status != 0 {
		t.Errorf("ended as %+v", e)
	}
	if text, err := os.ReadFile(folder + "/out"); err != nil || string(text) != "before\nafter\n" {
		t.Errorf("its output is %q (%v)", text, err)
	}
	final.Kill(runs["stopped"].handle, 0)
	if e := runs["stopped"].end(); !e.Killed {
		t.Errorf("ended as %+v", e)
	}
}

// TestCloseAfterAdoption: nothing survives the orderly end of a client for good, whichever
// client started it.
func TestCloseAfterAdoption(t *testing.T) {
	folder := t.TempDir()
	leader, guard := killVictim(t, folder, time.Minute, "sleep 1000", 0)
	c, a := adopt(t, folder)
	c.Follow(a)
	c.Close(0)
	for _, pid := range []int{leader, guard} {
		if state(pid) != "" && state(pid) != "Z" { // reaped by the process that adopted the guard
			t.Errorf("process %d is there after Close", pid)
		}
	}
}

// TestAdoptedGuardKilled: the processes of a guard that was adopted and then killed are lost,
// and the next process gets a new guard.
func TestAdoptedGuardKilled(t *testing.T) {
	folder := t.TempDir()
	leader, guard := killVictim(t, folder, time.Minute, "sleep 1000", 0)
	c, a := adopt(t, folder)
	r := claim(t, c, a.Held[0])
	c.Follow(a)
	if err := syscall.Kill(guard, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if e := r.end(); e.Kind != Lost {
		t.Errorf("ended as %+v", e)
	}
	await.Until(t, "the process is gone", func() bool { return state(leader) == "" })
	if e := start(t, c, shell("exit 3")).end(); e.Status.ExitStatus() != 3 {
		t.Errorf("under the new guard: %+v", e)
	}
}

// TestStoppedGuardHasNotEnded: a guard that does not answer is not reported as ended, and serves the
// next client that waits for it.
func TestStoppedGuardHasNotEnded(t *testing.T) {
	folder := t.TempDir()
	leader, guard := killVictim(t, folder, time.Minute, "sleep 1000", 0)
	if err := syscall.Kill(guard, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	await.Until(t, "it is stopped", func() bool { return state(guard) == "T" })
	hasty := New(options(folder, time.Minute))
	defer hasty.Close(0)
	hasty.patience = 50 * time.Millisecond
	var refused *RefusedError
	if a, err := hasty.Adopt(); a != nil || err == nil || errors.As(err, &refused) || !strings.Contains(err.Error(), "has not answered") {
		t.Errorf("adopting a stopped guard: %v, %v", a, err)
	}
	if err := syscall.Kill(guard, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	c, a := adopt(t, folder)
	c.Follow(a)
	if len(a.Held) != 1 || state(leader) == "" {
		t.Errorf("the guard has kept %+v, and its process is %q", a.Held, state(leader))
	}
}

// arrival lets a client with a greeting connect to a server, and returns the client's end.
func arrival(t *testing.T, s *server, g greeting) net.Conn {
	t.Helper()
	ours, theirs, err := socketPair()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ours.Close() }) // the test is over with it
	conn, err := net.FileConn(theirs)
	if err := errors.Join(err, theirs.Close()); err != nil {
		t.Fatal(err)
	}
	s.arrive(conn, nil, g, time.Now())
	return ours
}

// TestArrivals: a client that is gone gets no grace, the end of a guard is not undone by a client
// that is refused, and the cgroup stays the same tree from one client to the next.
func TestArrivals(t *testing.T) {
	poll, err := newPoller()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = syscall.Close(poll.epoll), syscall.Close(poll.wake) }) // only waited on
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "cgroup.subtree_control"), []byte("memory\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	tree := cgroup.At(root)
	s := &server{poll: poll, tree: tree, memory: memory{owner: "n1"}, handles: map[Handle]*child{}}
	s.over = true
	arrival(t, s, greeting{Version: version, Owner: "n2"})
	if !s.over || s.link != nil {
		t.Error("a client of another owner has undone the end of the guard")
	}
	s.over = false
	arrival(t, s, greeting{Version: version, Owner: "n1", Cgroup: root})
	if s.link == nil || s.tree != tree {
		t.Errorf("the link is %v, the tree %p, and was %p", s.link, s.tree, tree)
	}
	s.link.close()
	s.link = nil
	ours, theirs, err := socketPair()
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.FileConn(theirs)
	if err := errors.Join(err, theirs.Close(), ours.Close()); err != nil {
		t.Fatal(err)
	}
	if s.arrive(conn, nil, greeting{Version: version, Owner: "n1"}, time.Now()); s.link != nil || s.served != 1 {
		t.Errorf("a client that has gone is served (%d so far)", s.served)
	}
}

// TestWhoIsRefused: a guard serves its owner only, and one of another version of the protocol
// ends with all that it runs.
func TestWhoIsRefused(t *testing.T) {
	folder := t.TempDir()
	leader, _ := killVictim(t, folder, time.Minute, "sleep 1000", 0)
	if info, err := os.Stat(filepath.Join(folder, socketName)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the socket is %v (%v)", info, err)
	}
	o := options(folder, time.Minute)
	o.Owner = "node n2"
	other := New(o)
	defer other.Close(0)
	var refused *RefusedError
	if _, err := other.Adopt(); !errors.As(err, &refused) || refused.Ends || !strings.Contains(refused.Why, "node n1") {
		t.Errorf("another node's client: %v", err)
	}
	if state(leader) == "" {
		t.Error("what runs ended with a refusal")
	}
	var w welcome
	err := inFolder(folder, func(path string) error {
		conn, err := net.Dial("unix", path)
		if err != nil {
			return err
		}
		defer func() { _ = conn.Close() }() // the test is over with it
		if err := gob.NewEncoder(conn).Encode(greeting{Version: version + 1, Owner: "node n1"}); err != nil {
			return err
		}
		return gob.NewDecoder(conn).Decode(&w)
	})
	if err != nil || !w.Ends || !strings.Contains(w.Refused, fmt.Sprint(version+1)) {
		t.Errorf("another version: %+v, %v", w, err)
	}
	await.Until(t, "what ran has ended", func() bool { return state(leader) == "" })
}
