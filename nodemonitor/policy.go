package nodemonitor

import (
	"fmt"

	"github.com/pigeon-sched/pigeon/internal/policy"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// slotCore is what the shell needs of a policy's worker beside stepping it.
type slotCore interface {
	sched.Core
	Seq() uint64
	Epoch() uint64
	Reserved() bool
	Running() (sched.AttemptID, bool)
}

// newCore makes the core of one slot.
type newCore func(sched.WorkerConfig) slotCore

// policyOf gives what makes the cores of the policy that was asked for, or says
// why its workers cannot run live.
func policyOf(spec string) (newCore, error) {
	p, params, err := policy.ConfigureLive(spec, sched.Params{Cutoff: sched.Second})
	if err != nil {
		return nil, err
	}
	if p.NewWorker == nil {
		return nil, fmt.Errorf("policy %s has no worker that can run live", p.Name)
	}
	if _, ok := p.NewWorker(sched.WorkerConfig{Params: params}).(slotCore); !ok {
		return nil, fmt.Errorf("policy %s has no worker that can run live", p.Name)
	}
	return func(c sched.WorkerConfig) slotCore {
		c.Params = params
		return p.NewWorker(c).(slotCore)
	}, nil
}
