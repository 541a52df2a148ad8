package guard

import (
	"bytes"
	"fmt"
	"os"
	"syscall"
	"time"
)

// forkPatience is for how long a guard that starts processes may be silent before it is examined.
const forkPatience = 50 * time.Millisecond

// watchForks looks after the starts of processes with a user of their own, for as long as one has
// not begun. While a guard starts one it waits for the moment in which the process becomes the
// program, and does nothing else. Just before that the process already has its user, who can then
// stop it, and the guard with it (kill -STOP -1). A guard that sends events is not stopped.
func (c *Client) watchForks(g *instance) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !g.watched {
		g.watched = true
		c.lookLater(g)
	}
}

// lookLater needs the lock.
func (c *Client) lookLater(g *instance) {
	heard := g.heard
	time.AfterFunc(forkPatience, func() { c.look(g, heard) })
}

// look ends what holds up a guard that has sent no event since, and looks again later.
func (c *Client) look(g *instance, heard uint64) {
	c.mu.Lock()
	g.watched = !c.ended && !g.dead && c.awaitsForks(g)
	stuck := g.watched && g.heard == heard
	c.mu.Unlock()
	if stuck {
		endStopped(g.process.pid())
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if g.watched {
		c.lookLater(g)
	}
}

// awaitsForks reports whether a process with a user of its own has not begun. It needs the lock.
func (c *Client) awaitsForks(g *instance) bool {
	for _, a := range c.running {
		if a.guard == g && a.other && !a.began && !a.over {
			return true
		}
	}
	return false
}

// endStopped kills the children of a guard that were stopped before they became another program:
// they have the guard's own memory, and so its command line.
func endStopped(guard int) {
	own := commandLine(guard)
	if len(own) == 0 {
		return // it has ended
	}
	for _, pid := range childrenOf(guard) {
		if isStopped(pid) && bytes.Equal(commandLine(pid), own) {
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
		}
	}
}

func commandLine(pid int) []byte {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return nil
	}
	return text
}

// isStopped reports whether a process is stopped by a signal.
func isStopped(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	return len(fields) > 0 && string(fields[0]) == "T"
}
