package protocol

import (
	"slices"
	"strings"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// SweepsToLoss is how often a registry is swept within the time after which a silent peer
// is lost, so that a loss is detected late by a quarter of that time at most.
const SweepsToLoss = 4

// Verdict on a hello.
type Verdict int

// The verdicts.
const (
	New       Verdict = iota // no process of the name was registered
	Renewed                  // it was registered already
	Restarted                // another process of the name was registered
	Conflict                 // another process of the name is alive elsewhere
)

// Registry holds the daemons of one role that have sent a hello to a master, by name.
type Registry struct {
	every sched.Time // between two sweeps
	limit sched.Time // silence after which a daemon is lost
	swept sched.Time // last
	ever  bool
	peers map[string]*registered
}

// registered is one daemon. It stays registered when it falls silent until it is removed.
type registered struct {
	incarnation int64
	address     string
	lastHeard   sched.Time
	silent      bool
}

// NewRegistry returns an empty registry of daemons that are lost after a silence of limit
// and swept each every.
func NewRegistry(every, limit sched.Time) *Registry {
	return &Registry{every: every, limit: limit, peers: map[string]*registered{}}
}

// Classify returns what a hello comes to, and changes nothing. reachable means that
// messages reach the registered process of the name: while that is alive and reachable,
// another process at another address is not its successor.
func (r *Registry) Classify(name string, incarnation int64, address string, aliveWithin, now sched.Time, reachable bool) Verdict {
	old := r.peers[name]
	switch {
	case old == nil:
		return New
	case old.incarnation == incarnation && old.address == address:
		return Renewed
	case old.incarnation != incarnation && old.address != address && now-old.lastHeard < aliveWithin && reachable:
		return Conflict
	default:
		return Restarted
	}
}

// Enter registers a process. It reports whether the name was not registered, or silent.
func (r *Registry) Enter(name string, incarnation int64, address string, now sched.Time) (back bool) {
	old := r.peers[name]
	back = old == nil || old.silent
	r.peers[name] = &registered{incarnation: incarnation, address: address, lastHeard: now}
	return back
}

// Heard notes a message of a process; false when that is not the one registered.
func (r *Registry) Heard(name string, incarnation int64, now sched.Time) bool {
	p := r.peers[name]
	if p == nil || p.incarnation != incarnation {
		return false
	}
	p.lastHeard = now
	return true
}

// Registered reports whether it is this process that is registered under its name.
func (r *Registry) Registered(name string, incarnation int64) bool {
	p := r.peers[name]
	return p != nil && p.incarnation == incarnation
}

// Silent reports whether a registered process was found silent and has not sent a hello since.
func (r *Registry) Silent(name string) bool { p := r.peers[name]; return p != nil && p.silent }

// Remove forgets a name.
func (r *Registry) Remove(name string) { delete(r.peers, name) }

// Sweep returns the names that have fallen silent since the last sweep, in order. Time in
// which this process did not run itself, because its machine slept or was overloaded,
// does not count: what peers sent meanwhile waits to be read.
func (r *Registry) Sweep(now sched.Time) (silent []string) {
	var away sched.Time
	if late := now - r.swept - r.every; r.ever && late > r.every {
		away = late
	}
	r.swept, r.ever = now, true
	for name, p := range r.peers {
		p.lastHeard += away
		if !p.silent && now-p.lastHeard >= r.limit {
			p.silent = true
			silent = append(silent, name)
		}
	}
	slices.SortFunc(silent, strings.Compare)
	return silent
}
