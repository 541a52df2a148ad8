package guard

import (
	"bytes"
	"fmt"
	"os"
	"syscall"
	"time"
)

// forkPatience is how long a process may take to begin before it is looked at, and again.
const forkPatience = 50 * time.Millisecond

// watchFork looks after the start of a process with a user of its own. While a guard starts one
// it waits for the moment in which the process becomes the program. Just before that the process
// has its user already, who can stop it by then, and the guard with it (kill -STOP -1).
func (c *Client) watchFork(h Handle, g *instance) {
	time.AfterFunc(forkPatience, func() {
		c.mu.Lock()
		a := c.running[h]
		waits := a != nil && !a.began && !a.over && !c.ended && !g.dead
		c.mu.Unlock()
		if waits {
			endStopped(g.process.pid())
			c.watchFork(h, g)
		}
	})
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
