package protocol

import "github.com/pigeon-sched/pigeon/internal/sched"

// knownFor is how long a membership that a standby has read from its leader counts. It
// is longer than the time in which a leadership lapses, so that the last one read before a
// leader fell silent counts, and shorter than the changes that a standby may miss unnoticed.
const knownFor = 5 * sched.Second

// Expected are the daemons that a master which begins to lead waits for: those on the
// membership of its predecessor, as far as this process has followed it.
//
//	      Begin                    Registered, Gone, of each of them
//	idle ───────▶ waiting ───────────────────────────────────────────▶ all have registered
//
// The zero value expects no daemon and never says that all have registered.
type Expected struct {
	missing map[Peer]bool
	waiting bool
}

// Begin returns the daemons that are expected, where the membership was read last at the
// given instant; false when that is too long ago, and the time alone decides.
func Begin(members []Peer, read, now sched.Time) (e Expected, known bool) {
	if read == 0 || now-read > knownFor {
		return Expected{}, false
	}
	e = Expected{missing: map[Peer]bool{}, waiting: true}
	for _, p := range members {
		e.missing[p] = true
	}
	return e, true
}

// Registered records that a daemon has registered, and reports, once, whether it was the
// last: no other is expected.
func (e *Expected) Registered(p Peer) (all bool) { delete(e.missing, p); return e.all() }

// Gone records that a daemon will not register, because its process has ended.
func (e *Expected) Gone(p Peer) (all bool) { return e.Registered(p) }

// Nobody reports, once, whether no daemon is expected from the start.
func (e *Expected) Nobody() bool { return e.all() }

func (e *Expected) all() bool {
	if !e.waiting || len(e.missing) > 0 {
		return false
	}
	e.waiting = false
	return true
}
