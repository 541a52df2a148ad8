// Package roster gives every core that a daemon hears of a number, since cores
// name each other by small numbers and daemons by names.
package roster

import (
	"strconv"
	"sync"

	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// Limit bounds the names of one role, so that a peer cannot fill the memory by
// inventing some; a name beyond it stands for nobody.
const Limit = 1 << 20

var _ wire.Directory = (*Roster)(nil)

// Roster maps names to numbers and back. It is safe for concurrent use.
//
// A master is numbered by its group, everywhere. All others are numbered as they
// appear; a number is never given to another core, and Renew gives a new one to
// a name that now stands for another process, so that what is still on its way
// to or from the old one is told apart.
//
// Under policies whose workers are known to all by number the master gives their
// numbers out, and Set enters them; a worker without one is nobody then.
type Roster struct {
	numbered bool // workers have the numbers that Set gives them, and no others

	mu    sync.RWMutex
	addrs map[wire.Ref]sched.Addr
	refs  map[sched.Role][]wire.Ref // the zero name where a number is not given out
}

// New returns an empty roster.
func New() *Roster {
	return &Roster{addrs: map[wire.Ref]sched.Addr{}, refs: map[sched.Role][]wire.Ref{}}
}

// NewNumbered returns an empty roster whose workers are numbered by Set alone.
func NewNumbered() *Roster {
	r := New()
	r.numbered = true
	return r
}

// MasterRef names the master of a group.
func MasterRef(group int) wire.Ref {
	return wire.Ref{Role: sched.Master, Name: strconv.Itoa(group)}
}

// Addr returns the core's number, a new one at its first appearance. The zero
// address is nobody's: beyond Limit, and a worker's whose number is to come by Set.
func (r *Roster) Addr(ref wire.Ref) sched.Addr {
	if ref.Role == sched.Master {
		return masterAddr(ref)
	}
	r.mu.RLock()
	a, ok := r.addrs[ref]
	r.mu.RUnlock()
	if ok {
		return a
	}
	return r.give(ref, false)
}

// Renew returns the name a new number, also when it has one.
func (r *Roster) Renew(ref wire.Ref) sched.Addr { return r.give(ref, true) }

func (r *Roster) give(ref wire.Ref, renew bool) sched.Addr {
	r.mu.Lock()
	defer r.mu.Unlock()
	if a, ok := r.addrs[ref]; ok && !renew {
		return a
	}
	list := r.refs[ref.Role]
	if len(list) >= Limit || (r.numbered && ref.Role == sched.Worker) {
		return sched.Addr{}
	}
	a := sched.Addr{Role: ref.Role, ID: int32(len(list))} //nolint:gosec // below Limit
	r.refs[ref.Role] = append(list, ref)
	r.addrs[ref] = a
	return a
}

// Set returns the name the number that its cluster knows it by, and says whether it
// could: a number stands for one name, until Drop. A name that gets another number
// is another process from then on, and its former number stands for it still.
func (r *Roster) Set(ref wire.Ref, id int32) bool {
	if ref.Role == sched.Master || id < 0 || id >= Limit {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	list := r.refs[ref.Role]
	for len(list) <= int(id) {
		list = append(list, wire.Ref{})
	}
	r.refs[ref.Role] = list
	if old := list[id]; old != (wire.Ref{}) && old != ref {
		return false
	}
	list[id] = ref
	r.addrs[ref] = sched.Addr{Role: ref.Role, ID: id}
	return true
}

// Drop takes back the number that Set gave to the name, so that it may come to stand
// for another: the masters of two lives do not know of each other's numbers.
func (r *Roster) Drop(ref wire.Ref) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if a, ok := r.addrs[ref]; ok && ref.Role != sched.Master {
		r.refs[a.Role][a.ID] = wire.Ref{}
		delete(r.addrs, ref)
	}
}

// Find returns the core's number, if it has one; it gives out none.
func (r *Roster) Find(ref wire.Ref) (sched.Addr, bool) {
	if ref.Role == sched.Master {
		a := masterAddr(ref)
		return a, a != (sched.Addr{})
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	a, ok := r.addrs[ref]
	return a, ok
}

// Ref returns the name behind a number.
func (r *Roster) Ref(a sched.Addr) (wire.Ref, bool) {
	if a.Role == sched.Master {
		return MasterRef(int(a.ID)), true
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	list := r.refs[a.Role]
	if a.ID < 0 || int(a.ID) >= len(list) || list[a.ID] == (wire.Ref{}) {
		return wire.Ref{}, false
	}
	return list[a.ID], true
}

// masterAddr numbers a master by its group; a name that is no group is nobody.
func masterAddr(ref wire.Ref) sched.Addr {
	group, err := strconv.ParseUint(ref.Name, 10, 15)
	if err != nil {
		return sched.Addr{}
	}
	return sched.Addr{Role: sched.Master, ID: int32(group)} //nolint:gosec // 15 bits
}
