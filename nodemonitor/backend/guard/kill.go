package guard

import (
	"syscall"
	"time"
)

// kill sends the attempt's group SIGTERM, and SIGKILL once the grace is over. A process that had
// ended by itself before was not killed, even when its end has not been noticed yet.
func (s *server) kill(c *child, grace time.Duration) {
	s.reap()
	if c.exited {
		return // only its output is awaited
	}
	if c.birth != nil && c.birth.isOver() {
		c.birth.ready(0)
	}
	c.killed = true
	switch {
	case c.pid == 0: // launch checks killed
	case c.birth != nil: // its program, which would save something, has not begun, and does not from now on
		s.force(c)
	case grace <= 0:
		s.force(c)
	default:
		c.signal(syscall.SIGTERM)
		c.signal(syscall.SIGCONT) // a stopped process would not see the other
		if c.grace == nil {
			c.grace = s.poll.after(grace, func() { s.force(c) })
		}
	}
}

func (s *server) force(c *child) {
	c.forced = true
	c.signal(syscall.SIGKILL)
	if s.draining[c] {
		s.exit(c)
	}
}

// reap reaps every ended child. When an attempt's process ends, the rest of its
// group is killed while the dead leader still holds the group's number; after a
// Kill the rest keeps what remains of the grace: a shell ends on SIGTERM at once,
// the program below it may have something to save.
func (s *server) reap() {
	for pid := endedChild(); pid != 0; pid = endedChild() {
		c := s.byPid[pid]
		if c == nil {
			reapPid(pid) // an orphan, perhaps the last of its group
			delete(s.told, pid)
			s.sweepSoon()
			continue
		}
		delete(s.byPid, pid)
		s.unwatch(c)
		if b := c.birth; b != nil {
			b.close()
			if b.failed() || neverRan(pid) {
				reapPid(pid)
				s.unborn(c)
				continue
			}
			s.began(c)
		}
		patient := c.killed && !c.forced
		if !patient {
			c.signal(syscall.SIGKILL)
		}
		c.event.Status, c.event.Peak = reapUsage(pid)
		if patient && c.groupAlive() {
			s.draining[c] = true
			continue
		}
		s.exit(c)
	}
	for c := range s.draining {
		if !c.groupAlive() {
			s.exit(c)
		}
	}
}

// exit records that nothing is left of the attempt's group.
func (s *server) exit(c *child) {
	delete(s.draining, c)
	c.exited = true
	c.closeInput()
	if c.grace != nil {
		c.grace.Stop()
	}
	c.event.Kind, c.event.Killed = Ended, c.killed
	c.event.Ran = time.Since(c.started)
	if c.open > 0 {
		// An escaped child may hold the pipes open forever.
		c.pipeTimeout = s.poll.after(pipeWait, func() {
			for i := range c.streams {
				c.streams[i].expire()
			}
		})
	}
	s.measure(c)
	s.killLeft(c)
	s.sweepSoon()
	s.finishIfEnded(c)
}
