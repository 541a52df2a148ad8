package process

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/await"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/nodemonitor/accounts"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend/guard"
)

// hang makes the folders of jobs wait, as on a disk that hangs, until the function is called.
func (n *node) hang(t *testing.T) (answer func()) {
	t.Helper()
	gate := make(chan struct{})
	n.makeJob = func(id sched.AttemptID) error { <-gate; return n.logs.Make(id) }
	answer = sync.OnceFunc(func() { close(gate) })
	t.Cleanup(answer) // before the node is closed
	return answer
}

// While the folder of its job is made, on a disk that hangs, an attempt keeps nobody waiting, and its end
// is reported once: by whoever ends it, at once. Nothing of it begins afterwards.
func TestEndsWhileAFolderIsMade(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(n *node)
		want sched.Outcome
	}{
		"kill":      {func(n *node) { n.Kill(id(1)); n.Kill(id(1)) }, sched.Killed},
		"give back": {func(n *node) { n.GiveBackWaiting(); n.Kill(id(1)) }, sched.Yielded},
		"close":     {func(n *node) { go n.Close() }, sched.Killed},
		"leave":     {func(n *node) { go n.Leave() }, sched.Yielded},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t, guard.Options{})
			answer := n.hang(t)
			left := filepath.Join(t.TempDir(), "left")
			k := task(1, "sh", "-c", "sleep 1; touch "+left)
			k.Alone = true // of which no other one begins before its end
			ends := make(chan backend.Result, 2)
			n.Start(k, func(r backend.Result) { ends <- r })
			c.end(n)
			if r := <-ends; r.ID != id(1) || r.Outcome != c.want || !r.Started.IsZero() {
				t.Errorf("%+v", r)
			}
			answer()
			n.Close()
			if len(ends) > 0 {
				t.Errorf("also reported: %+v", <-ends)
			}
			if _, err := os.Stat(left); err == nil {
				t.Error("it ran all the same")
			}
		})
	}
}

// A backend that leaves what runs to the next process passes an attempt to the guard whose folder is made in time.
func TestLeaveWhileAFolderIsMade(t *testing.T) {
	pid := make(chan int, 1)
	n := newNode(t, guard.Options{Grace: time.Minute, Folder: t.TempDir(), Started: func(p int) { pid <- p }})
	answer := n.hang(t)
	begun := filepath.Join(t.TempDir(), "begun")
	k := task(1, "sh", "-c", "touch "+begun+"; exec sleep 1000")
	k.Note = []byte("note")
	end := n.start(k)
	left := make(chan struct{})
	go func() { defer close(left); n.Leave() }()
	await.Until(t, "it leaves", func() bool {
		n.mu.Lock()
		defer n.mu.Unlock()
		return n.closed
	}, func() string { return "" })
	answer()
	<-left
	await.Until(t, "it has begun", func() bool { _, err := os.Stat(begun); return err == nil }, func() string { return "" })
	if len(end) > 0 {
		t.Errorf("reported: %+v", <-end)
	}
	if err := syscall.Kill(<-pid, syscall.SIGKILL); err != nil { // with what it runs
		t.Fatal(err)
	}
}

// An attempt that is suspended while the folder of its job is made is suspended when it begins: the time of
// that counts as suspended. One that was resumed by then runs.
func TestSuspendWhileAFolderIsMade(t *testing.T) {
	n := newNode(t, guard.Options{})
	answer := n.hang(t)
	suspended, resumed := n.start(task(1, "sleep", "0.1")), n.start(task(2, "true"))
	for _, do := range []error{n.Suspend(id(1)), n.Suspend(id(2)), n.Resume(id(2))} {
		if do != nil {
			t.Fatal(do)
		}
	}
	answer()
	if r := <-resumed; r.Outcome != sched.Done {
		t.Errorf("%+v", r)
	}
	n.awaitKnown(t, 1)
	n.run(t, task(3, "sleep", "0.3"))
	if len(suspended) > 0 {
		t.Fatalf("a suspended one ran: %+v", <-suspended)
	}
	if err := n.Resume(id(1)); err != nil {
		t.Fatal(err)
	}
	if r := <-suspended; r.Outcome != sched.Done {
		t.Errorf("%+v", r)
	}
}

// The attempts of a job begin behind the folder that one of them makes; a folder that cannot be made fails
// the attempt where the disk is good, and not before a second try.
func TestFoldersThatCannotBeMade(t *testing.T) {
	n := newNode(t, guard.Options{})
	tries := 0
	n.makeJob = func(id sched.AttemptID) error {
		if tries++; tries < 2 {
			return errors.New("no room")
		}
		return n.logs.Make(id)
	}
	if r := n.run(t, task(1, "true")); r.Outcome != sched.Done || tries != 2 {
		t.Errorf("%+v, tried %d times", r, tries)
	}
	n.makeJob = func(sched.AttemptID) error { return errors.New("no room") }
	other := task(2, "true")
	other.ID.Job = sched.NewJobID("f", "other")
	if r := n.run(t, other); r.Outcome != sched.Failed || !strings.Contains(r.Reason, "there is no room for its logs: no room") || !r.Started.IsZero() {
		t.Errorf("%+v", r)
	}
}

// While the file of users is read, from a disk that hangs, the attempts of a submitter who was looked up a moment
// ago begin, and others can be killed.
func TestUsersOnADiskThatHangs(t *testing.T) {
	n := newNode(t, guard.Options{})
	path := filepath.Join(t.TempDir(), "users")
	me := strconv.Itoa(os.Getuid()) + ":" + strconv.Itoa(os.Getgid())
	if err := os.WriteFile(path, []byte("known: '"+me+"'\nother: '"+me+"'\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	as, err := accounts.New(accounts.Config{RunAs: accounts.Submitter, UsersFile: path, AllowRoot: true})
	if err != nil {
		t.Fatal(err)
	}
	n.cfg.Accounts = as
	by := func(k int, submitter string) backend.Task {
		task := task(k, "true")
		task.Payload.Submitter = submitter
		return task
	}
	if r := n.run(t, by(0, "known")); r.Outcome != sched.Done {
		t.Fatalf("%+v", r)
	}
	if err := errors.Join(os.Remove(path), syscall.Mkfifo(path, 0o600)); err != nil {
		t.Fatal(err)
	}
	waits := n.start(by(1, "other"))
	if r := n.run(t, by(2, "known")); r.Outcome != sched.Done {
		t.Errorf("%+v", r)
	}
	n.Kill(id(1))
	if r := <-waits; r.Outcome != sched.Killed {
		t.Errorf("%+v", r)
	}
	answer, err := os.OpenFile(path, os.O_WRONLY, 0) // its reader goes on
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Close()
}
