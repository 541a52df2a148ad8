package frontend

import (
	"fmt"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// plan is the policy as the shell around its distributor needs to know it.
//
//	               groups with a master each   one master of all workers   one that only keeps the membership
//	               pigeon, -sort, -x           hawk, eagle, kairos, ...    sparrow, peacock
//	MasterUp, ...  of each                     of that one                 -
//	the membership       -                           followed                    followed
type plan struct {
	sched.Policy
	params sched.Params
}

// planOf reads the policy. The error names what cannot work, the number of masters
// included.
func planOf(cfg *Config) (plan, error) {
	p, params, err := cfg.Configure(0)
	return plan{p, params}, err
}

// rolled reports whether there is one master, whose membership names every worker by number.
func (p *plan) rolled() bool { return p.SingleMaster() }

// refuses returns why the policy cannot run a job, nil when it can. Processes of
// applications serve the workers of groups only: under the other policies any
// worker runs any task, and kairos stops tasks in the middle.
func (p *plan) refuses(r *api.Request) error {
	if !p.rolled() || needs(r) == "" {
		return nil
	}
	return &api.Error{Problem: api.Invalid, What: fmt.Sprintf("policy %s runs sleep and exec tasks only, its tasks are for a backend of application %q", p.Name, r.App),
		Subject: fmt.Sprintf("job %q", r.Key), Tried: "accepting it; nothing was accepted", Next: "run the cluster under pigeon, pigeon-sort or pigeon-x, or make them exec tasks"}
}
