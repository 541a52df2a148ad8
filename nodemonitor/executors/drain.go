package executors

import "time"

// leaveEvery is how often a draining node looks whether executors that are to leave still
// hold grants.
const leaveEvery = 100 * time.Millisecond

// Drain stops further starts of executors here for a reason, or, for "", permits them again. Executors
// that have no process yet are stopped: one that waits for slots would never get them, because
// the node takes nothing new, and would keep those that it has. Their frontends are told so and
// order others elsewhere. On a draining node an executor that its frontend does not want any more
// ends when it holds no grant.
func (m *Manager) Drain(why string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.draining = why
	if why == "" {
		return
	}
	for _, a := range m.apps { // they do not depend on each other
		for _, x := range a.executors {
			if !x.process && x.stopping == "" {
				x.blameless = true
				m.stopExecutor(x, why+", and it has not begun")
			}
		}
	}
}

// EndAll stops all executors. Their applications stay known, so that their frontends learn
// how they ended.
func (m *Manager) EndAll(reason string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, a := range m.apps {
		for _, x := range a.executors {
			x.blameless = true
			m.stopExecutor(x, reason)
		}
	}
}

// leave stops an executor that is not wanted any more; on a draining node only when it holds
// no grant, so that its pieces of work end. It needs the lock.
func (m *Manager) leave(x *executor, reason string) {
	if _, held := m.cfg.Table.Attached(x.app.ID, x.id); m.draining == "" || held == 0 {
		m.stopExecutor(x, reason)
		return
	}
	if x.leaving != nil {
		return // one look at a time, however often it is ordered to leave
	}
	var again *time.Timer
	again = time.AfterFunc(leaveEvery, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		if x.leaving == again {
			x.leaving = nil
			m.leave(x, reason)
		}
	})
	x.leaving = again
}

// stay revokes leave. It needs the lock.
func (x *executor) stay() {
	if x.leaving != nil {
		x.leaving.Stop()
		x.leaving = nil
	}
}
