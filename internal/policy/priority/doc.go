// Package priority is one central queue over all workers with zero decision time,
// all short tasks before all long ones, and a share of the workers reserved for
// short tasks: the centralized counterpart in the Pigeon paper's section 4.1.
//
// It is Pigeon with one group, however many the cluster has, and W infinite; so
// its cores are Pigeon's. The worked example of section 4.1 (four workers, jobs
// {20,1,1,10,10,10}, {2}, {2}) completes at 20, 12 and 13.
package priority

import (
	"github.com/pigeon-sched/pigeon/internal/policy/pigeon"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Name is the name under which users choose the policy.
const Name = "priority"

// Policy returns the policy's cores.
func Policy() sched.Policy {
	p := pigeon.Policy()
	p.Name, p.Central = Name, true
	p.NewMaster = func(c sched.MasterConfig) sched.MasterCore {
		c.Params.Weight = 0
		return pigeon.NewMaster(c)
	}
	return p
}
