package master

import (
	"fmt"

	"github.com/pigeon-sched/pigeon/internal/policy"
	"github.com/pigeon-sched/pigeon/internal/policy/groupview"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// rules are what the shell has to know of the policy.
type rules struct {
	name string
	// numbered says that this is the only master, which numbers all workers.
	numbered bool
	// helping says that masters speak to each other.
	helping bool
	cores   int // slots of a worker
}

func rulesOf(p sched.Policy) rules {
	return rules{name: p.Name, numbered: policy.OneMaster(p), helping: p.Helping, cores: max(1, p.Cores)}
}

// view is what a master core shows of itself between steps.
type view interface {
	Totals() groupview.Totals
	// Serves lists the applications that can be run, sorted; Serving counts the
	// workers for one.
	Serves() []string
	Serving(app string) int
	Shown(worker sched.Addr) groupview.Worker
	Share(job sched.JobID, most int) groupview.Job
}

// contest is the view of a core that knows who competes for its workers.
type contest interface {
	Contended(app string, c sched.Class) bool
}

// hosted makes the policy's master core. A policy without masters has none: then
// this daemon only keeps the roll, and what it shows is what its nodes tell.
func hosted(p sched.Policy, cfg sched.MasterConfig, o *owner) (sched.Core, view, error) {
	if p.NewMaster == nil {
		return nil, &registrar{o}, nil
	}
	core := p.NewMaster(cfg)
	shown, ok := core.(view)
	if !ok {
		return nil, nil, fmt.Errorf("policy %s has a master that cannot be shown, and so none that can run live", p.Name)
	}
	return core, shown, nil
}
