package nodemonitor

import (
	"fmt"
	"time"

	"github.com/pigeon-sched/pigeon/internal/policy"
	"github.com/pigeon-sched/pigeon/internal/policy/pigeon"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// core is what the shell asks of a policy's worker beside stepping it.
type core interface {
	sched.Core
	// Holds reports whether the attempt is at the worker: it runs, is suspended, or
	// waits for its turn.
	Holds(id sched.AttemptID) bool
}

// judge is a core that numbers the states of its slot, as Pigeon's does. It refuses
// a launch that was made on an older state and offers the slot again, so the shell
// has a way to refuse one for reasons of its own.
type judge interface {
	Seq() uint64
	Epoch() uint64
	Reserved() bool
	Running() (sched.AttemptID, bool)
}

// rules are what the shell has to know of the policy.
type rules struct {
	name  string
	cores int // slots of one worker core
	// numbered says that one master has all workers and numbers them: all daemons
	// know a worker by the same number, and talk to it themselves.
	numbered   bool
	central    bool // that master schedules as well
	acquainted bool // workers are told of each other
	newCore    func(sched.WorkerConfig) core
}

// params are the numbers of the policy that come from the settings.
func (c Config) params() sched.Params {
	return sched.Params{Cutoff: sched.Time(c.Cutoff), Reserved: c.Reserved}
}

// rules reads the policy that was asked for, or says why its workers cannot run
// live.
func (c Config) rules() (rules, error) {
	chosen, params, err := policy.Configure(c.Policy, c.params())
	if err != nil {
		return rules{}, err
	}
	made := func(w sched.WorkerConfig) (core, bool) {
		w.Params = params
		made, ok := chosen.NewWorker(w).(core)
		return made, ok
	}
	if _, ok := made(sched.WorkerConfig{}); !ok {
		return rules{}, fmt.Errorf("policy %s has no worker that can run live", chosen.Name)
	}
	return rules{
		name: chosen.Name, cores: max(1, chosen.Cores), numbered: policy.OneMaster(chosen),
		central: chosen.Central, acquainted: chosen.Acquainted,
		newCore: func(w sched.WorkerConfig) core { c, _ := made(w); return c },
	}, nil
}

// policyFault returns why the node cannot work under the policy, "" when it can.
func (c Config) policyFault() string {
	if c.Cutoff <= 0 || !isShare(c.Reserved) {
		return "" // told by their own names
	}
	chosen, _, err := policy.Configure(c.Policy, c.params())
	if err == nil && (c.Slots > 0 || policy.OneMaster(chosen)) { // else classic backends bring some
		err = policy.CheckSlots(chosen, c.Slots)
	}
	switch {
	case err != nil:
		return err.Error()
	case policy.OneMaster(chosen) && c.Group != 0:
		return fmt.Sprintf("policy %s has one master for all nodes, of group 0, and this node is in group %d; set group to 0", chosen.Name, c.Group)
	}
	return ""
}

// judgeOf returns the core as a judge, nil when it is none.
func judgeOf(c core) judge {
	if w, ok := c.(*pigeon.Worker); ok {
		return w
	}
	return nil
}

// patience is how long a call to the master may take: a heartbeat, and for a busy
// machine not too little.
func (c Config) patience() time.Duration { return max(c.Heartbeat, time.Second) }
