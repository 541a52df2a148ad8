package protocol

import "github.com/pigeon-sched/pigeon/internal/sched"

// Pauses finds the time in which this process did not run itself, because it or its machine
// was stopped or overloaded. What peers sent meanwhile waits to be read, so that this time
// is not their silence.
type Pauses struct {
	every sched.Time
	last  sched.Time
	ever  bool
}

// NewPauses returns the pauses of a process that calls Since about once in the given interval.
func NewPauses(every sched.Time) Pauses { return Pauses{every: every} }

// Since returns how long this process did not run since the last call.
func (p *Pauses) Since(now sched.Time) (away sched.Time) {
	if late := now - p.last - p.every; p.ever && late > p.every {
		away = late
	}
	p.last, p.ever = now, true
	return away
}
