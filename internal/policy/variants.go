package policy

import (
	"github.com/pigeon-sched/pigeon/internal/policy/pigeon"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

func openPigeonSort(p *sched.Params) (func() sched.Policy, []parameter) {
	o := pigeon.DefaultOptions()
	return func() sched.Policy { return pigeon.SortPolicy(o) }, append(sorting(&o), weight(p), reserved(p))
}

// openPigeonX adds patience, how long a short task waits for a worker before it has
// a long one suspended (none by default), and canary, which finds out jobs of a wrong
// class at the cost of one cutoff of work (yes by default).
func openPigeonX(*sched.Params) (func() sched.Policy, []parameter) {
	o := pigeon.XOptions()
	return func() sched.Policy { return pigeon.XPolicy(o) }, append(sorting(&o), span("patience", &o.Patience), choice("canary", &o.Canary))
}

// sorting are the parameters of Pigeon's sorted queues: aging, the power of a long
// job's age in the order of the long queue, a whole number (2 by default; 0 is pure
// least remaining work; 3 favours what has waited still more), and guard, which
// serves jobs first that have waited 20 cutoffs, the oldest first (no by default).
func sorting(o *pigeon.Options) []parameter {
	return []parameter{whole("aging", &o.Aging, 0, pigeon.MaxAging), choice("guard", &o.Guard)}
}
