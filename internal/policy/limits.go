package policy

import (
	"fmt"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// What a policy requires of a live cluster in addition to its parameters. Every
// daemon checks what it knows before it starts.

// CheckMasters refuses a number of masters that the policy cannot have.
func CheckMasters(p sched.Policy, masters int) error {
	switch {
	case masters < 1:
		return fmt.Errorf("policy %s needs a master, and none is configured; name one", p.Name)
	case masters == 1 || !p.SingleMaster():
		return nil
	case p.Central:
		return fmt.Errorf("policy %s has one central master, %d are configured; leave one", p.Name, masters)
	default:
		return fmt.Errorf("policy %s has no masters but one daemon that publishes the membership, %d are configured; leave one", p.Name, masters)
	}
}

// CheckSlots refuses a number of slots of a node that does not make whole workers
// of the policy.
func CheckSlots(p sched.Policy, slots int) error {
	if cores := p.SlotsPerWorker(); slots < cores || slots%cores != 0 {
		return fmt.Errorf("policy %s makes workers of %d slots, and a node of %d slots cannot be divided so; configure a multiple, or set the policy's cores", p.Name, cores, slots)
	}
	return nil
}
