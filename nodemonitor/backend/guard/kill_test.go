package guard

import (
	"os"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pigeon-sched/pigeon/internal/await"
)

// TestEndBeforeTheKill: a process that has ended when the kill comes was not killed, although
// the guard has not looked at its end yet. Otherwise a node that stops would give it back, and
// its work would be done again.
func TestEndBeforeTheKill(t *testing.T) {
	runtime.LockOSThread() // as in a guard: the parent-death signal comes from this thread
	defer runtime.UnlockOSThread()
	null, err := unix.Open(os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(null)
	poll, err := newPoller()
	if err != nil {
		t.Fatal(err)
	}
	// Its descriptors stay: timers may signal it later.
	for _, grace := range []time.Duration{0, time.Second} {
		s := &server{poll: poll, null: null, signals: handledSignals(), open: createLog, handles: map[Handle]*child{}, byPid: map[int]*child{}, draining: map[*child]bool{}, sweeping: true}
		c := &child{handle: 1, spec: &Spec{Argv: []string{"/bin/sh", "-c", "exit 0"}, Dir: "/"}}
		if err := c.fork(s, &plan{argv: c.spec.Argv, dir: "/"}); err != nil {
			t.Fatal(err)
		}
		s.handles[1], s.byPid[c.pid] = c, c
		await.Until(t, "the process has ended and is not reaped", func() bool { return state(c.pid) == "Z" })
		s.kill(c, grace)
		s.reap()
		if !c.exited || c.event.Killed || !c.event.Status.Exited() || c.event.Status.ExitStatus() != 0 {
			t.Errorf("grace %v: exited %v, %+v", grace, c.exited, c.event)
		}
		for i := range c.streams {
			_ = unix.Close(c.streams[i].fd)
		}
	}
}
