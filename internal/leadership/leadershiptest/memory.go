// Package leadershiptest has what tests of leadership need: a store in memory.
package leadershiptest

import (
	"context"
	"sync"

	"github.com/pigeon-sched/pigeon/internal/leadership"
)

// Memory is a store in memory, for candidates of one process. Revisions count all writes.
type Memory struct {
	mu      sync.Mutex
	last    uint64
	records map[string]entry
	changed chan struct{} // closed at the next write
	down    error
}

type entry struct {
	record   leadership.Record
	revision uint64
	exists   bool
}

var _ leadership.Store = (*Memory)(nil)

// NewMemory returns an empty store.
func NewMemory() *Memory {
	return &Memory{records: map[string]entry{}, changed: make(chan struct{})}
}

// Fail makes every request fail with the error, and watches silent, until it is called
// with nil.
func (m *Memory) Fail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.down = err
	if err == nil {
		m.notify()
	}
}

func (m *Memory) notify() {
	close(m.changed)
	m.changed = make(chan struct{})
}

// Get implements [leadership.Store].
func (m *Memory) Get(_ context.Context, name string) (leadership.Record, uint64, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.records[name]
	return e.record, e.revision, e.exists, m.down
}

// Put implements [leadership.Store].
func (m *Memory) Put(_ context.Context, name string, r leadership.Record, after uint64) (uint64, error) {
	return m.write(name, entry{record: r, exists: true}, after)
}

// Delete implements [leadership.Store].
func (m *Memory) Delete(_ context.Context, name string, after uint64) error {
	_, err := m.write(name, entry{}, after)
	return err
}

func (m *Memory) write(name string, e entry, after uint64) (uint64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.down != nil {
		return 0, m.down
	}
	if now := m.records[name]; now.revision != after && (after != 0 || now.exists) {
		return 0, leadership.ErrConflict
	}
	m.last++
	e.revision = m.last
	m.records[name] = e
	m.notify()
	return m.last, nil
}

// Watch implements [leadership.Store].
func (m *Memory) Watch(ctx context.Context, name string, change func(leadership.Record, uint64, bool)) error {
	for {
		m.mu.Lock()
		e, changed, down := m.records[name], m.changed, m.down
		m.mu.Unlock()
		if down == nil {
			change(e.record, e.revision, e.exists)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
