package backends

import (
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend/guard"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend/sleep"
)

// Folder returns the work folder of the node.
func (s *Set) Folder() string { return s.cfg.Folder }

// SetLeaving sets whether the backends, when they are closed, leave their processes to the
// next process of the node.
func (s *Set) SetLeaving(leaving bool) { s.leaving.Store(leaving) }

// Leave ends the backends of applications, with the tasks that run there, and leaves the
// processes of exec tasks to the guard and the sleeps, which it returns, to the next
// process. When it returns, every earlier end has been reported. It is safe twice.
func (s *Set) Leave() []sleep.Handover {
	s.SetLeaving(true)
	s.apps.Close()
	s.execs.Leave()
	s.guard.Leave()
	return s.sleeps.Leave()
}

// Adopt connects to the guard of the former process of the node; nil when there is none.
func (s *Set) Adopt() (*guard.Adoption, error) { return s.guard.Adopt() }

// StartGuard starts the guard of this node, unless it was adopted, before the first program needs
// it. One that several nodes share is started by whoever made it.
func (s *Set) StartGuard() {
	if s.cfg.Guard == nil {
		s.guard.StartGuard()
	}
}

// Keep makes the guard keep data for the next process.
func (s *Set) Keep(data []byte) { s.guard.Keep(data) }

// Follow starts the reports of the ends of the adopted processes. Those that were not taken
// over are killed.
func (s *Set) Follow(a *guard.Adoption, taken map[guard.Handle]bool) {
	for i := range a.Held {
		if h := &a.Held[i]; !taken[h.Handle] {
			s.guard.Kill(h.Handle, s.cfg.Grace)
		}
	}
	s.guard.Follow(a)
}

// Exec and Sleep return the backends whose attempts can be taken over.
func (s *Set) Exec() backend.Backend { return s.byKind[api.BackendExec] }

// Sleep returns the backend of sleeping tasks.
func (s *Set) Sleep() backend.Backend { return s.byKind[api.BackendSleep] }

// TakeOver continues the process of an attempt.
func (s *Set) TakeOver(h *guard.Held, t backend.Task, done func(backend.Result)) {
	s.execs.TakeOver(h, t, done)
}

// TakeOverSleep continues a sleep; away is how long it has run without this process.
func (s *Set) TakeOverSleep(l sleep.Handover, away time.Duration, done func(backend.Result)) {
	if !l.Suspended {
		l.Remains -= away
	}
	s.sleeps.TakeOver(&l, done)
}
