// Package fifo is one central queue over all workers with zero decision time, each
// owner's tasks in order of arrival: YARN's FIFO in the Kairos paper's comparison.
//
//	distributor, worker   Pigeon's
//	master                Pigeon's, one for all workers, to which every task is
//	                      short and no worker reserved: one queue is left
//
// The worked example of the Pigeon paper's section 4.1 (four workers, jobs
// {20,1,1,10,10,10}, {2}, {2}) completes at 20, 12 and 13.
package fifo

import (
	"fmt"

	"github.com/pigeon-sched/pigeon/internal/policy/pigeon"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Name is the name under which users choose the policy.
const Name = "fifo"

// Policy returns the policy's cores.
func Policy() sched.Policy {
	p := pigeon.Policy()
	p.Name, p.Central, p.Explain = Name, true, explain
	p.NewMaster = func(c sched.MasterConfig) sched.MasterCore { return NewMaster(c) }
	return p
}

// explain returns why tasks wait.
func explain(w *sched.Waiting) string {
	return fmt.Sprintf("%s among %d at the central master, in order of arrival; all %d workers are busy. The oldest waits %.3f s.",
		sched.Count(w.Queued, "of its tasks waits", "of its tasks wait"), w.QueuedAll[sched.Short]+w.QueuedAll[sched.Long], w.Workers, w.OldestWait)
}

// Master is Pigeon's, blind to the classes.
type Master struct{ *pigeon.Master }

var _ sched.MasterCore = Master{}

// NewMaster returns a master without workers.
func NewMaster(c sched.MasterConfig) Master {
	c.Params.Weight, c.Params.Reserved = 0, 0
	c.Params.Cutoff = 0 // owners are charged for all that their tasks use
	return Master{pigeon.NewMaster(c)}
}

// Step implements [sched.Core].
func (s Master) Step(now sched.Time, from sched.Addr, m *sched.Message, out *sched.Actions) {
	blind := *m
	blind.Class, blind.Marks = sched.Short, m.Marks&^sched.Undeclared
	s.Master.Step(now, from, &blind, out)
}
