package grants

import (
	"slices"
	"sync"
)

// guarded is a state behind a lock, with the calls that its changes cause: the ends of
// attempts, and changed. They are made without the lock.
type guarded struct {
	mu       sync.Mutex
	returned *sync.Cond      // a call of update has returned
	serving  func() []string // returns what the state serves; it needs the lock
	changed  func()          // is called when that has changed
	served   []string        // when changed was last called
	updates  int             // that are in progress
}

func (s *guarded) init(serving func() []string, changed func()) {
	s.serving, s.changed = serving, changed
	s.returned = sync.NewCond(&s.mu)
}

// update changes the state and then, without the lock, makes the calls that follow from
// the change.
func (s *guarded) update(change func(e *ends)) {
	s.mu.Lock()
	var e ends
	change(&e)
	changed := false
	if now := s.serving(); !slices.Equal(now, s.served) {
		s.served, changed = now, true
	}
	s.updates++
	s.mu.Unlock()
	for _, f := range e.calls {
		f()
	}
	if changed {
		s.changed()
	}
	s.mu.Lock()
	s.updates--
	s.mu.Unlock()
	s.returned.Broadcast()
}

// wait returns when the calls of every update have been made.
func (s *guarded) wait() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.updates > 0 {
		s.returned.Wait()
	}
}

// ends collects calls that must be made without the lock.
type ends struct{ calls []func() }

func (e *ends) add(f func()) { e.calls = append(e.calls, f) }
