package guard

import (
	"syscall"
	"time"
)

// kill asks the attempt's group to end, and makes it end once the grace is over.
func (s *server) kill(c *child, grace time.Duration) {
	if c.exited {
		return // only its output is awaited
	}
	c.killed = true
	switch {
	case c.pid == 0: // the launch sees it
	case grace <= 0:
		s.force(c)
	default:
		c.signal(syscall.SIGTERM)
		c.signal(syscall.SIGCONT) // a stopped process would not see the other
		if c.grace == nil {
			c.grace = time.AfterFunc(grace, func() { s.todo <- func() { s.force(c) } })
		}
	}
}

func (s *server) force(c *child) {
	c.forced = true
	c.signal(syscall.SIGKILL)
	if s.mourning[c] {
		s.exit(c)
	}
}

// reap buries every ended child. When an attempt's process ends, the rest of its
// group is killed while the dead leader still holds the group's number; after a
// Kill the rest keeps what remains of the grace: a shell dies of SIGTERM at once,
// the program below it may have something to save.
func (s *server) reap() {
	for pid := dead(); pid != 0; pid = dead() {
		c := s.byPid[pid]
		if c == nil {
			bury(pid) // an orphan, perhaps the last of its group
			s.sweepSoon()
			continue
		}
		delete(s.byPid, pid)
		patient := c.killed && !c.forced
		if !patient {
			c.signal(syscall.SIGKILL)
		}
		c.event.Status = bury(pid)
		if patient && c.groupAlive() {
			s.mourning[c] = true
			continue
		}
		s.exit(c)
	}
	for c := range s.mourning {
		if !c.groupAlive() {
			s.exit(c)
		}
	}
}

// exit takes note that nothing is left of the attempt's group.
func (s *server) exit(c *child) {
	delete(s.mourning, c)
	c.exited = true
	if c.grace != nil {
		c.grace.Stop()
	}
	c.event.Kind, c.event.Killed = Ended, c.killed
	c.event.Ran = time.Since(c.started)
	if c.open > 0 {
		// An escaped child may hold the pipes open for ever.
		c.linger = time.AfterFunc(lingerFor, func() { s.todo <- c.closePipes })
	}
	s.sweepSoon()
	s.settle(c)
}
