package slots

import (
	"slices"

	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/internal/telemetry"
)

// EachAttempt calls visit for every attempt at a worker, with its distributor and the address
// of the distributor in its launch.
func (s *Workers) EachAttempt(visit func(id sched.AttemptID, distributor sched.Addr, address string, slot int32)) {
	for _, w := range s.workers.all {
		if w == nil {
			continue
		}
		for _, a := range w.attempts.list {
			visit(a.id, a.distributor, a.FrontendAddress, w.number)
		}
	}
}

// StopUnwanted kills the attempts that their frontend does not want, and returns how many
// there were. One that is being killed is left alone.
func (s *Workers) StopUnwanted(frontend sched.Addr, ids []sched.AttemptID) (stopped int) {
	unwanted := make(map[sched.AttemptID]bool, len(ids))
	for _, id := range ids {
		unwanted[id] = true
	}
	for _, w := range s.workers.live() {
		for _, a := range slices.Clone(w.attempts.list) {
			// Usually the order to stop is still in transit, so that this is no warning.
			if unwanted[a.id] && a.distributor == frontend && !a.killed && w.attempts.find(a.id) == a {
				telemetry.LogTrace(s.cfg.Log, telemetry.Carrier(a.Trace)).Info("killing an attempt that its frontend does not want", "attempt", a.id, "frontend", nameOf(s.cfg.Names, frontend).Name)
				s.killUnknown(w, a)
				stopped++
			}
		}
	}
	return stopped
}
