package faults

import (
	"syscall"
	"time"

	"github.com/pigeon-sched/pigeon/internal/cluster"
	"github.com/pigeon-sched/pigeon/internal/sparktest"
)

// fault is what happens to an application.
type fault struct {
	name   string
	fatal  bool // the application has no answer
	strike func(s *scene)
}

var faults = []fault{
	{"kill executor", false, func(s *scene) { s.must(s.executor().Kill()) }},
	{"kill node monitor", false, func(s *scene) { s.kill(sparktest.NodeMonitor, 0) }},
	{"kill master", false, func(s *scene) { s.kill(sparktest.Master, 0) }},
	{"kill frontend", false, func(s *scene) { s.kill(sparktest.Frontend, s.server()) }},
	{"kill driver", true, func(s *scene) { s.must(s.driver.Signal(syscall.SIGKILL)) }},
	{"pause executor", false, func(s *scene) {
		x := s.executor()
		s.pause(x.Pause, x.Resume)
	}},
	{"pause node monitor", false, func(s *scene) { s.pauseDaemon(sparktest.NodeMonitor, 0) }},
	{"pause master", false, func(s *scene) { s.pauseDaemon(sparktest.Master, 0) }},
	{"pause frontend", false, func(s *scene) { s.pauseDaemon(sparktest.Frontend, s.server()) }},
	{"pause driver", false, func(s *scene) {
		s.pause(func() error { return s.driver.Signal(syscall.SIGSTOP) }, func() error { return s.driver.Signal(syscall.SIGCONT) })
	}},
}

func (s *scene) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// executor is one that runs.
func (s *scene) executor() sparktest.Executor {
	s.Helper()
	list := s.c.Executors()
	if len(list) == 0 {
		s.Fatal("no executor runs")
	}
	return list[0]
}

// server is the frontend that serves the application.
func (s *scene) server() int {
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

// kill ends a daemon, which its supervisor starts again.
func (s *scene) kill(r cluster.Role, i int) {
	s.Helper()
	s.must(s.c.Kill(r, i))
	time.Sleep(supervisor)
	s.must(s.c.Restart(r, i))
}

const (
	supervisor = time.Second     // it takes so long to notice
	stopped    = 5 * time.Second // a paused process is
)

func (s *scene) pauseDaemon(r cluster.Role, i int) {
	s.Helper()
	s.pause(func() error { return s.c.Pause(r, i) }, func() error { return s.c.Resume(r, i) })
}

// pause is the fault itself, not a wait for something.
func (s *scene) pause(stop, resume func() error) {
	s.Helper()
	s.must(stop())
	time.Sleep(stopped)
	s.must(resume())
}
