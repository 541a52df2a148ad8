package policy

import (
	"fmt"

	"github.com/pigeon-sched/pigeon/internal/policy/pigeon"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

func openPigeonSort(p *sched.Params) (func() sched.Policy, []parameter) {
	o := pigeon.DefaultOptions()
	return func() sched.Policy { return pigeon.SortPolicy(o) }, append(sorting(&o), weight(p), reserved(p))
}

// openPigeonX adds patience, how long a short task waits for a worker before a long
// one is suspended for it (none by default), and canary, which finds jobs of a wrong
// class at the cost of one cutoff of work (yes by default).
func openPigeonX(*sched.Params) (func() sched.Policy, []parameter) {
	o := pigeon.XOptions()
	return func() sched.Policy { return pigeon.XPolicy(o) }, append(sorting(&o), spanFrom("patience", &o.Patience, 0, "of 0s or more"), choice("canary", &o.Canary))
}

// sorting are the parameters of Pigeon's sorted queues: tail, which orders long jobs
// by the time left before a learned limit (yes by default) or by their age; aging, the
// power of the age in the latter, a whole number (2 by default; 0 is pure least
// remaining work; 3 favours what has waited still more), which stands for tail=no as
// well; and guard, which serves jobs first that have waited 20 cutoffs, the oldest
// first (no by default).
func sorting(o *pigeon.Options) []parameter {
	aging, tail := whole("aging", &o.Aging, 0, pigeon.MaxAging), choice("tail", &o.Tail)
	aged, tailed := false, false // set by the user
	decide := func(err error) error {
		if err == nil && aged && tailed {
			return fmt.Errorf("tail=yes does not order by age; leave tail=yes or aging out")
		}
		o.Tail = o.Tail && !aged
		return err
	}
	return []parameter{
		{aging.key, func(value string) error {
			err := aging.set(value)
			aged = true
			return decide(err)
		}},
		{tail.key, func(value string) error {
			err := tail.set(value)
			tailed = o.Tail
			return decide(err)
		}},
		choice("guard", &o.Guard),
	}
}
