package guard

import (
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// sweepSoon asks for a sweep, several at once for one.
func (s *server) sweepSoon() {
	if !s.sweeping {
		s.sweeping = true
		time.AfterFunc(sweepEvery, func() { s.todo <- s.sweep })
	}
}

// sweep kills the adopted children whose attempt has ended. Killing one may
// orphan its own children, so a sweep that killed looks again.
func (s *server) sweep() {
	s.sweeping = false
	living := make(map[string]bool, len(s.handles))
	for _, c := range s.handles {
		living[c.mark] = !c.exited // one whose output is awaited is over
	}
	for _, pid := range childrenOf(os.Getpid()) {
		if s.byPid[pid] != nil {
			continue
		}
		if mark := markOf(pid); mark != "" && !living[mark] {
			_ = syscall.Kill(pid, syscall.SIGKILL) // ours and not reaped, so nobody else's pid
			s.sweepSoon()
		}
	}
}

// buryAll kills every descendant and returns when there is none: as the guard
// adopts what its children leave behind, that is when it has no child.
func (s *server) buryAll() {
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
