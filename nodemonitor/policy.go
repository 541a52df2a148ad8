package nodemonitor

import (
	"fmt"
	"time"

	"github.com/pigeon-sched/pigeon/internal/policy"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// params are the numbers of the policy that come from the settings.
func (c Config) params() sched.Params {
	return sched.Params{Cutoff: sched.Time(c.Cutoff), Reserved: c.Reserved}
}

// policyFault returns why the node cannot work under the policy, "" when it can.
func (c Config) policyFault() string {
	if c.Cutoff <= 0 || !isShare(c.Reserved) {
		return "" // told by their own names
	}
	chosen, _, err := policy.Configure(c.Policy, c.params())
	if err == nil && (c.Slots > 0 || chosen.SingleMaster()) { // else classic backends bring some
		err = policy.CheckSlots(chosen, c.Slots)
	}
	switch {
	case err != nil:
		return err.Error()
	case chosen.SingleMaster() && c.Group != 0:
		return fmt.Sprintf("policy %s has one master for all nodes, of group 0, and this node is in group %d; set group to 0", chosen.Name, c.Group)
	}
	return ""
}

// patience is how long a call to the master may take: a heartbeat, and for a busy
// machine not too little.
func (c Config) patience() time.Duration { return max(c.Heartbeat, time.Second) }
