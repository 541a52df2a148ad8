package master

import "github.com/pigeon-sched/pigeon/internal/sched"

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
	return rules{name: p.Name, numbered: p.SingleMaster(), helping: p.CrossGroup, cores: p.SlotsPerWorker()}
}

// hosted makes the policy's master core. A policy without masters has none: then
// this daemon only keeps the roll, and what it shows is what its nodes tell.
func hosted(p sched.Policy, cfg sched.MasterConfig, o *owner) (sched.Core, sched.GroupView) {
	if p.NewMaster == nil {
		return nil, &registrar{o}
	}
	core := p.NewMaster(cfg)
	return core, core
}
