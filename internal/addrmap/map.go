// Package addrmap maps the names that daemons use for each other (wire.Ref) to the
// small numbers that cores use (sched.Addr), and back.
package addrmap

import (
	"strconv"
	"sync"

	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// Limit bounds the names of one role, so that a peer cannot fill the memory by
// inventing some. A name beyond it has no address.
const Limit = 1 << 20

var _ wire.Directory = (*Map)(nil)

// Map maps names to numbers and back. It is safe for concurrent use.
//
// A master is numbered by its group, in every daemon. All others are numbered in the
// order in which this daemon first names them. A number never stands for a second
// core, and Renew assigns a new one to a name that now stands for another process, so
// that messages still in transit to or from the old process can be recognised.
//
// Under a policy in which all daemons know a worker by the same number, the master
// assigns the numbers and Set enters them; a worker without one has no address.
type Map struct {
	numbered bool // workers are numbered by Set alone

	mu    sync.RWMutex
	addrs map[wire.Ref]sched.Addr
	refs  map[sched.Role][]wire.Ref // the zero name where a number is not assigned
}

// New returns an empty map.
func New() *Map {
	return &Map{addrs: map[wire.Ref]sched.Addr{}, refs: map[sched.Role][]wire.Ref{}}
}

// NewNumbered returns an empty map whose workers are numbered by Set alone.
func NewNumbered() *Map {
	m := New()
	m.numbered = true
	return m
}

// MasterRef names the master of a group.
func MasterRef(group int) wire.Ref {
	return wire.Ref{Role: sched.Master, Name: strconv.Itoa(group)}
}

// Addr returns the core's address, a new one at its first appearance. It returns the
// zero address, which no core has, beyond Limit, and for a worker whose number only Set
// may assign.
func (m *Map) Addr(ref wire.Ref) sched.Addr {
	if ref.Role == sched.Master {
		return masterAddr(ref)
	}
	m.mu.RLock()
	a, ok := m.addrs[ref]
	m.mu.RUnlock()
	if ok {
		return a
	}
	return m.assign(ref, false)
}

// Renew returns a new address for the name, also when it has one.
func (m *Map) Renew(ref wire.Ref) sched.Addr { return m.assign(ref, true) }

func (m *Map) assign(ref wire.Ref, renew bool) sched.Addr {
	m.mu.Lock()
	defer m.mu.Unlock()
	if a, ok := m.addrs[ref]; ok && !renew {
		return a
	}
	list := m.refs[ref.Role]
	if len(list) >= Limit || (m.numbered && ref.Role == sched.Worker) {
		return sched.Addr{}
	}
	a := sched.Addr{Role: ref.Role, ID: int32(len(list))} //nolint:gosec // below Limit
	m.refs[ref.Role] = append(list, ref)
	m.addrs[ref] = a
	return a
}

// Set assigns to the name the number that it has in its cluster, and reports whether it
// could: a number stands for one name, until Drop. A name that is assigned another
// number counts as another process from then on; its former number still stands for it.
func (m *Map) Set(ref wire.Ref, id int32) bool {
	if ref.Role == sched.Master || id < 0 || id >= Limit {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	list := m.refs[ref.Role]
	for len(list) <= int(id) {
		list = append(list, wire.Ref{})
	}
	m.refs[ref.Role] = list
	if old := list[id]; old != (wire.Ref{}) && old != ref {
		return false
	}
	list[id] = ref
	m.addrs[ref] = sched.Addr{Role: ref.Role, ID: id}
	return true
}

// Drop withdraws the number that Set assigned to the name, so that the number can
// be assigned to another name: its slot has left, or the process is another one.
func (m *Map) Drop(ref wire.Ref) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if a, ok := m.addrs[ref]; ok && ref.Role != sched.Master {
		m.refs[a.Role][a.ID] = wire.Ref{}
		delete(m.addrs, ref)
	}
}

// Find returns the core's address, if it has one; it assigns none.
func (m *Map) Find(ref wire.Ref) (sched.Addr, bool) {
	if ref.Role == sched.Master {
		a := masterAddr(ref)
		return a, a != (sched.Addr{})
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	a, ok := m.addrs[ref]
	return a, ok
}

// Ref returns the name behind a number.
func (m *Map) Ref(a sched.Addr) (wire.Ref, bool) {
	if a.Role == sched.Master {
		return MasterRef(int(a.ID)), true
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	list := m.refs[a.Role]
	if a.ID < 0 || int(a.ID) >= len(list) || list[a.ID] == (wire.Ref{}) {
		return wire.Ref{}, false
	}
	return list[a.ID], true
}

// masterAddr numbers a master by its group; a name that is not a group has no address.
func masterAddr(ref wire.Ref) sched.Addr {
	group, err := strconv.ParseUint(ref.Name, 10, 15)
	if err != nil {
		return sched.Addr{}
	}
	return sched.Addr{Role: sched.Master, ID: int32(group)} //nolint:gosec // 15 bits
}
