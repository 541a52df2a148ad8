package executors

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// maxWait bounds a wait for holdings.
const maxWait = time.Minute

// Holdings returns what is held here as soon as it differs from the version named, or
// when the wait is over. It renews the leases of the applications of that frontend,
// also at its end: a frontend that waits is alive.
func (m *Manager) Holdings(ctx context.Context, frontend string, incarnation, version int64, wait time.Duration) (wire.Holdings, error) {
	timer := time.NewTimer(min(max(wait, 0), maxWait, m.cfg.Lease/3))
	defer timer.Stop()
	for over := false; ; {
		h, wake := m.poll(frontend)
		if over || wake == nil || incarnation != h.Incarnation || version != h.Version {
			return h, nil
		}
		select {
		case <-wake:
		case <-timer.C:
			over = true
		case <-ctx.Done():
			return wire.Holdings{}, ctx.Err()
		}
	}
}

// poll renews the leases of a frontend's applications and returns what is held, and the
// channel that is closed at the next change; nil when the manager is closed.
func (m *Manager) poll(frontend string) (wire.Holdings, <-chan struct{}) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.renew(frontend)
	if m.closed {
		return m.held(), nil
	}
	return m.held(), m.wake
}

// renew renews the leases of a frontend's applications. It needs the lock.
func (m *Manager) renew(frontend string) {
	now := time.Now()
	for _, a := range m.apps {
		if a.frontend == frontend {
			a.lastContact = now
		}
	}
}

// Held returns what is held here.
func (m *Manager) Held() wire.Holdings {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.held()
}

// held returns what is held here. It needs the lock.
func (m *Manager) held() wire.Holdings {
	h := wire.Holdings{Incarnation: m.cfg.Incarnation, Version: m.version, Memory: m.cfg.Memory}
	for _, a := range m.apps {
		h.Used += a.memory()
		v := wire.HeldApplication{
			ID: a.ID, Incarnation: a.Incarnation, Frontend: a.frontend, Tenure: a.tenure, Sequence: a.sequence, Last: a.last,
			Executors: slices.Clone(a.ended),
		}
		for _, id := range slices.Sorted(maps.Keys(a.executors)) {
			v.Executors = append(v.Executors, m.heldExecutor(a.executors[id]))
		}
		h.Applications = append(h.Applications, v)
	}
	slices.SortFunc(h.Applications, func(a, b wire.HeldApplication) int { return strings.Compare(a.ID, b.ID) })
	return h
}

// Present returns which applications have executors here, and how many there are.
func (m *Manager) Present() (p wire.Present) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, a := range m.apps {
		if n := len(a.executors); n > 0 {
			p.Applications, p.Executors = append(p.Applications, a.ID), p.Executors+n
		}
	}
	slices.Sort(p.Applications)
	return p
}

// heldExecutor returns one executor. It needs the lock.
func (m *Manager) heldExecutor(x *executor) wire.HeldExecutor {
	h := wire.HeldExecutor{State: x.state, Slots: x.slots, Ran: time.Since(x.began)}
	if x.app.Grants {
		h.Attached, _ = m.cfg.Table.Attached(x.app.ID, x.id)
	} else {
		h.Held = m.cfg.Holds.Holding(x.app.ID, x.id)
	}
	return h
}
