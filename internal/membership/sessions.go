package membership

import (
	"sync"

	"github.com/pigeon-sched/pigeon/internal/membership/protocol"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// Sessions are [protocol.Sessions] by wire names, safe for concurrent use: the owner
// goroutine changes them, and every goroutine that receives a batch looks its sender up.
type Sessions struct {
	mu    sync.RWMutex
	table *protocol.Sessions
}

// NewSessions returns an empty table.
func NewSessions(p protocol.Patience) *Sessions { return &Sessions{table: protocol.NewSessions(p)} }

// Status returns the status of a process: unknown, current or superseded.
func (s *Sessions) Status(peer wire.Ref, incarnation int64) protocol.Status {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.table.Status(key(peer), incarnation)
}

// NewMaster records which master's membership follows, and reports whether it is the successor of
// another one.
func (s *Sessions) NewMaster(incarnation int64, now sched.Time) (successor bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.table.NewMaster(incarnation, now)
}

// Enter makes a process current, and reports whether that changes anything.
func (s *Sessions) Enter(peer wire.Ref, incarnation int64) (changed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.table.Enter(key(peer), incarnation)
}

// Retain removes the peers that have been missing from the membership for too long, and
// returns them in order.
func (s *Sessions) Retain(members map[wire.Ref]bool, now sched.Time) (left []wire.Ref) {
	named := make(map[protocol.Peer]bool, len(members))
	for peer := range members {
		named[key(peer)] = true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return refs(s.table.Retain(named, now))
}

// Expire removes the peers that have been missing for too long by now.
func (s *Sessions) Expire(now sched.Time) (left []wire.Ref) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return refs(s.table.Expire(now))
}

// Next returns when Expire has to be called at the latest; false while no peer is missing.
func (s *Sessions) Next() (at sched.Time, some bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.table.Next()
}

func key(peer wire.Ref) protocol.Peer { return protocol.Peer{Role: peer.Role, Name: peer.Name} }

func refs(peers []protocol.Peer) []wire.Ref {
	list := make([]wire.Ref, len(peers))
	for i, p := range peers {
		list[i] = wire.Ref{Role: p.Role, Name: p.Name}
	}
	return list
}
