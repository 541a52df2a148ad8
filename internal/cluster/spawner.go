package cluster

import (
	"os/exec"
	"runtime"
)

// spawner starts processes from one thread that lives as long as they do: the
// parent-death signal of a process comes when the thread that started it ends,
// not when the program does.
type spawner struct {
	work chan func()
	gone chan struct{}
}

func newSpawner() *spawner {
	s := &spawner{work: make(chan func()), gone: make(chan struct{})}
	go func() {
		defer close(s.gone)
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		for do := range s.work {
			do()
		}
	}()
	return s
}

func (s *spawner) start(cmd *exec.Cmd) error {
	done := make(chan error)
	s.work <- func() { done <- cmd.Start() }
	return <-done
}

// close lets go of the thread; nothing may be started afterwards.
func (s *spawner) close() {
	close(s.work)
	<-s.gone
}
