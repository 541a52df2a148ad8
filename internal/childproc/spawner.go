package childproc

import (
	"os/exec"
	"runtime"
)

// spawner starts processes from one thread that lives until close: the kernel sends
// the parent-death signal when the thread that started the process ends, which may be
// long before the program ends.
type spawner struct {
	requests chan func()
	stopped  chan struct{}
}

func newSpawner() *spawner {
	s := &spawner{requests: make(chan func()), stopped: make(chan struct{})}
	go func() {
		defer close(s.stopped)
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		for start := range s.requests {
			start()
		}
	}()
	return s
}

func (s *spawner) start(cmd *exec.Cmd) error {
	started := make(chan error)
	s.requests <- func() { started <- cmd.Start() }
	return <-started
}

// close ends the thread; nothing may be started afterwards.
func (s *spawner) close() {
	close(s.requests)
	<-s.stopped
}
