package faults

import (
	"syscall"
	"time"

	"github.com/pigeon-sched/pigeon/cluster"
	"github.com/pigeon-sched/pigeon/sparkplugin/sparktest"
)

// fault is one fault that can happen to an application.
type fault struct {
	name   string
	fatal  bool // the application has no answer
	inject func(s *trial)
}

var faults = []fault{
	{"kill executor", false, func(s *trial) { s.must(s.executor().Kill()) }},
	{"kill node monitor", false, func(s *trial) { s.kill(sparktest.NodeMonitor, 0) }},
	{"kill master", false, func(s *trial) { s.kill(sparktest.Master, 0) }},
	{"kill frontend", false, func(s *trial) { s.kill(sparktest.Frontend, s.server()) }},
	{"kill driver", true, func(s *trial) { s.must(s.driver.Signal(syscall.SIGKILL)) }},
	{"pause executor", false, func(s *trial) {
		x := s.executor()
		s.pause(x.Pause, x.Resume)
	}},
	{"pause node monitor", false, func(s *trial) { s.pauseDaemon(sparktest.NodeMonitor, 0) }},
	{"pause master", false, func(s *trial) { s.pauseDaemon(sparktest.Master, 0) }},
	{"pause frontend", false, func(s *trial) { s.pauseDaemon(sparktest.Frontend, s.server()) }},
	{"pause driver", false, func(s *trial) {
		s.pause(func() error { return s.driver.Signal(syscall.SIGSTOP) }, func() error { return s.driver.Signal(syscall.SIGCONT) })
	}},
}

func (s *trial) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// executor returns one of the running executors.
func (s *trial) executor() sparktest.Executor {
	s.Helper()
	list := s.c.Executors()
	if len(list) == 0 {
		s.Fatal("no executor runs")
	}
	return list[0]
}

// server returns the number of the frontend that serves the application.
func (s *trial) server() int {
	s.Helper()
	for i := range s.c.Frontends() {
		list, err := s.c.Applications(i)
		s.must(err)
		if len(list) > 0 {
			return i
		}
	}
	s.Fatal("no frontend serves the application")
	return 0
}

// kill kills a daemon and starts it again, as its supervisor would.
func (s *trial) kill(r cluster.Role, i int) {
	s.Helper()
	s.must(s.c.Kill(r, i))
	time.Sleep(restartDelay)
	s.must(s.c.Restart(r, i))
}

const (
	restartDelay  = time.Second     // until a supervisor notices
	pauseDuration = 5 * time.Second // of a paused process
)

func (s *trial) pauseDaemon(r cluster.Role, i int) {
	s.Helper()
	s.pause(func() error { return s.c.Pause(r, i) }, func() error { return s.c.Resume(r, i) })
}

// pause stops a process for a while: the sleep is the fault itself.
func (s *trial) pause(stop, resume func() error) {
	s.Helper()
	s.must(stop())
	time.Sleep(pauseDuration)
	s.must(resume())
}
