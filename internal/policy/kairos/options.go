package kairos

import "github.com/pigeon-sched/pigeon/internal/sched"

// Options are the policy's own numbers.
type Options struct {
	Cores  int // N: tasks that a node runs at once
	Extra  int // Q: tasks beyond N that a node holds suspended, at least 1
	Passes int // s: quanta that a task is passed over before it starves
	// Quantum, W, is how long a task runs before it may be swapped; 0 is one
	// cutoff. Less than MinQuantum is MinQuantum.
	Quantum sched.Time
	// Heartbeat is how often a node reports its tasks; 0 is a 20th of the
	// quantum. Less than MinQuantum is MinQuantum.
	Heartbeat sched.Time
}

// MinQuantum is the lower bound of quantum and heartbeat. Each end of one is a step of the
// node, so that the simulation of a task of a second would take 10^9 steps if one were 1 ns.
const MinQuantum = sched.Microsecond

// Defaults are ours. The paper's prototype has N = 4, Q = 4, W = 50 s, and its
// simulation N = 1, Q = 2, W = 100 s (Yahoo) or 10,000 s (Google), s = 3. One core
// makes a node a worker like those of the other policies; on the traces here the
// policy needs a Q of 10 or more.
func Defaults() Options { return Options{Cores: 1, Extra: 10, Passes: 3} }

// beatsPerQuantum is how many heartbeats there are in a quantum by
// default.
const beatsPerQuantum = 20

// resolved fills in the numbers that depend on others.
func (o Options) resolved(p sched.Params) Options {
	o.Cores, o.Extra = max(1, o.Cores), max(1, o.Extra)
	if o.Quantum <= 0 {
		o.Quantum = p.Cutoff
	}
	o.Quantum = max(MinQuantum, o.Quantum)
	if o.Heartbeat <= 0 {
		o.Heartbeat = o.Quantum / beatsPerQuantum
	}
	o.Heartbeat = max(MinQuantum, o.Heartbeat)
	return o
}

// room is how many tasks a node holds, N + Q.
func (o Options) room() int { return o.Cores + o.Extra }
