package guard

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// sweepRetries is how often a sweep is repeated that has killed a process, or found an unmarked one: a
// process that is being replaced (execve), or is ending, shows no environment for a moment; one that
// wiped it never will.
const sweepRetries = 3

// sweepSoon schedules a sweep, one for several calls. It is due whenever an
// attempt has ended, and whenever an adopted child has: that may leave children of
// its own.
func (s *server) sweepSoon() {
	s.retries = sweepRetries
	s.sweepAgain()
}

func (s *server) sweepAgain() {
	if !s.sweeping {
		s.sweeping = true
		s.poll.after(sweepEvery, s.sweep)
	}
}

// sweep kills the adopted children whose attempt has ended. It also reaps those that the sweep before
// has killed: their signals come while the loop does not wait.
func (s *server) sweep() {
	s.sweeping = false
	s.reap()
	marks, known := make(map[string]bool, len(s.handles)), make(map[uint64]bool, len(s.handles))
	for _, c := range s.handles {
		if !c.exited { // one whose output is awaited has ended
			marks[c.mark], known[s.tags.of(c.handle)] = true, true
		}
	}
	again := false
	s.strays = false
	told := s.told
	s.told = map[int]bool{}
	for _, pid := range childrenOf(os.Getpid()) {
		if s.byPid[pid] != nil {
			continue
		}
		s.strays = true
		var (
			kill bool
			of   Handle
		)
		if s.tags.on {
			tag := tagOf(pid)
			if known[tag] {
				continue
			}
			kill, of = true, s.tags.handle(tag) // also where the process has changed its tag
		} else {
			mark := markOf(pid)
			if marks[mark] {
				continue
			}
			kill = mark != ""
		}
		again = true
		if kill {
			s.told[pid] = told[pid]
			s.killStray(pid, of)
		}
	}
	if again && s.retries > 0 {
		s.retries--
		s.sweepAgain()
	}
}

// killStray kills an adopted child that has outlived its attempt, and tells the client once.
func (s *server) killStray(pid int, of Handle) {
	if p := lookAt(pid); p.state != "Z" && !s.told[pid] {
		s.told[pid] = true
		s.tell(Event{Kind: Stray, Handle: of, Pid: pid, Tail: p.name})
	}
	_ = syscall.Kill(pid, syscall.SIGKILL) // a child that is not reaped, so its pid is not reused
}

// killLeft kills what an attempt that ends has left outside of its group, as far as it is adopted by then, before
// the end is told: a sweep finds the rest. With a backlog that is left to the sweep, too.
func (s *server) killLeft(c *child) {
	if !s.tags.on || s.laden {
		return
	}
	for _, pid := range childrenOf(os.Getpid()) {
		if s.byPid[pid] == nil && tagOf(pid) == s.tags.of(c.handle) && lookAt(pid).group != c.pid {
			s.killStray(pid, c.handle)
		}
	}
}

// reapAll kills every descendant and returns when there is none: as the guard
// adopts what its children leave behind, that is when it has no child.
func (s *server) reapAll() {
	for _, c := range s.byPid {
		c.signal(syscall.SIGKILL)
	}
	for {
		for _, pid := range childrenOf(os.Getpid()) {
			_ = syscall.Kill(pid, syscall.SIGKILL) // likewise
		}
		if _, err := unix.Wait4(-1, nil, 0, nil); err != nil && err != unix.EINTR {
			return // no child is left
		}
	}
}
