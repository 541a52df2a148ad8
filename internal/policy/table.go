package policy

import (
	"github.com/pigeon-sched/pigeon/internal/policy/pigeon"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// entry is a policy that can be asked for.
type entry struct {
	name string
	// open gives what makes the policy, and the parameters that change p and what
	// is made: a policy's own numbers are options of its package, which its cores
	// keep.
	open func(p *sched.Params) (build func() sched.Policy, parameters []parameter)
}

// table lists the policies. A new one is one line here and a function below.
func table() []entry {
	return []entry{
		{pigeon.Name, openPigeon},
	}
}

func openPigeon(p *sched.Params) (func() sched.Policy, []parameter) {
	return pigeon.Policy, []parameter{weight(p), reserved(p)}
}
