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
	Replaced                 // a later process of the name is registered: this hello is late
)

// Registry holds the daemons of one role that have sent a hello to a master, by name.
type Registry struct {
	pauses        Pauses     // of the sweeps
	limit         sched.Time // silence after which a daemon is lost
	peers         map[string]*registered
	registrations int64 // so far
}

// registered is one daemon. It stays registered when it falls silent until it is removed.
type registered struct {
	processes    Incarnations
	registration int64
	address      string
	lastHeard    sched.Time
	silent       bool
	gone         bool // another process answers in its place
	removed      bool // only its processes are remembered
}

// NewRegistry returns an empty registry of daemons that are lost after a silence of limit
// and swept each every.
func NewRegistry(every, limit sched.Time) *Registry {
	return &Registry{pauses: NewPauses(every), limit: limit, peers: map[string]*registered{}}
}

// Classify returns what a hello comes to, and changes nothing. reachable means that
// messages reach the registered process of the name: while that is alive and reachable,
// another process at another address is not its successor. Incarnations have no order: of
// two processes, the later one is the one that was registered later. While it lives, a
// hello of the other arrives late and changes nothing.
func (r *Registry) Classify(name string, incarnation int64, address string, aliveWithin, now sched.Time, reachable bool) Verdict {
	old := r.peers[name]
	switch {
	case old == nil || old.removed:
		return New
	case old.processes.Current() == incarnation && old.address == address:
		return Renewed
	case old.gone || old.processes.Current() == incarnation:
		return Restarted
	case !old.silent && old.processes.Superseded(incarnation):
		return Replaced
	case old.address != address && now-old.lastHeard < aliveWithin && reachable:
		return Conflict
	default:
		return Restarted
	}
}

// Enter registers a process. It reports whether the name was not registered, or silent.
func (r *Registry) Enter(name string, incarnation int64, address string, now sched.Time) (back bool) {
	p := r.peers[name]
	if back = p == nil || p.silent || p.removed; p == nil {
		p = &registered{}
		r.peers[name] = p
	}
	if p.processes.Enter(incarnation) || p.address != address || p.removed {
		r.registrations++
		p.registration = r.registrations
	}
	p.address, p.lastHeard, p.silent, p.gone, p.removed = address, now, false, false, false
	return back
}

// Registration returns the number of a name's registration, which changes whenever the name
// was not registered as this process; 0 for a name that is not registered.
func (r *Registry) Registration(name string) int64 {
	if p := r.peers[name]; p != nil && !p.removed {
		return p.registration
	}
	return 0
}

// Gone records that another process than the one of the incarnation answers in its place.
// The next hello of any process of the name is taken for that of its successor.
func (r *Registry) Gone(name string, incarnation int64) {
	if r.Registered(name, incarnation) {
		r.peers[name].gone = true
	}
}

// Heard records a message of a process; false when that is not the one registered.
func (r *Registry) Heard(name string, incarnation int64, now sched.Time) bool {
	if !r.Registered(name, incarnation) {
		return false
	}
	r.peers[name].lastHeard = now
	return true
}

// Registered reports whether it is this process that is registered under its name.
func (r *Registry) Registered(name string, incarnation int64) bool {
	p := r.peers[name]
	return p != nil && !p.removed && p.processes.Current() == incarnation
}

// Silent reports whether a registered process was found silent and has not sent a hello since.
func (r *Registry) Silent(name string) bool { p := r.peers[name]; return p != nil && p.silent }

// Remove ends the registration of a name. Its processes are remembered.
func (r *Registry) Remove(name string, now sched.Time) {
	if p := r.peers[name]; p != nil && !p.removed {
		p.removed, p.lastHeard = true, now
	}
}

// Forget forgets the names that were removed, or have been silent, for that long, and returns
// them in order. A late hello of a process of theirs would be taken for a new daemon's.
func (r *Registry) Forget(after, now sched.Time) (forgotten []string) {
	for name, p := range r.peers {
		if (p.removed || p.silent) && now-p.lastHeard >= after {
			delete(r.peers, name)
			forgotten = append(forgotten, name)
		}
	}
	slices.SortFunc(forgotten, strings.Compare)
	return forgotten
}

// Sweep returns the names that have fallen silent since the last sweep, in order. Time in
// which this process did not run itself does not count ([Pauses]).
func (r *Registry) Sweep(now sched.Time) (silent []string) {
	away := r.pauses.Since(now)
	for name, p := range r.peers {
		p.lastHeard = max(p.lastHeard, min(p.lastHeard+away, now))
		if !p.silent && !p.removed && now-p.lastHeard >= r.limit {
			p.silent = true
			silent = append(silent, name)
		}
	}
	slices.SortFunc(silent, strings.Compare)
	return silent
}
