package frontend

import (
	"fmt"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/ledger"
	"github.com/pigeon-sched/pigeon/internal/policy"
	"github.com/pigeon-sched/pigeon/internal/policy/probing"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// plan is the policy as the shell around its distributor needs to know it.
//
//	               groups with a master each   one master of all workers   one that only keeps the roll
//	               pigeon, -sort, -x           hawk, eagle, kairos, ...    sparrow, peacock
//	MasterUp, ...  of each                     of that one                 -
//	the roll       -                           followed                    followed
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

// rolled reports whether there is one master, whose roll names every worker by number.
func (p *plan) rolled() bool { return policy.OneMaster(p.Policy) }

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

// books are what a policy's distributor owes: one ledger, or one for each class.
type books []*ledger.Ledger

// booksOf returns the books of a core, false for one that keeps none.
func booksOf(core sched.Core) (books, bool) {
	switch c := core.(type) {
	case interface{ Ledger() *ledger.Ledger }:
		return books{c.Ledger()}, true
	case interface{ Ledgers() []*ledger.Ledger }:
		return c.Ledgers(), true
	default:
		return nil, false
	}
}

// job finds an unfinished job, nil when there is none.
func (b books) job(id sched.JobID) *ledger.Job {
	for _, l := range b {
		if j := l.Job(id); j != nil {
			return j
		}
	}
	return nil
}

// sums returns how many jobs and tasks are unfinished, and how many results came again.
func (b books) sums() (jobs, tasks int, repeated uint64) {
	for _, l := range b {
		jobs, tasks, repeated = jobs+l.Jobs(), tasks+l.Tasks(), repeated+l.Repeated()
	}
	return jobs, tasks, repeated
}

// lateBinder is a distributor that hands tasks to workers itself.
type lateBinder interface {
	View(id sched.JobID, most int) (probing.View, bool)
}

// bound returns what a core says of a job by late binding; false when the job is not
// bound that way.
func bound(core sched.Core, id sched.JobID, most int) (v probing.View, ok bool) {
	if b, late := core.(lateBinder); late {
		return b.View(id, most)
	}
	return v, false
}
