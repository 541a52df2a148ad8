package master

import (
	"github.com/pigeon-sched/pigeon/internal/runloop"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// groupCore is the scheduling core of the group with what surrounds it. Under a policy
// without masters there is no core, and its view is that of the nodes.
type groupCore struct {
	self   sched.Addr
	core   sched.MasterCore // nil under a policy without masters
	view   sched.GroupView
	clock  runloop.Clock
	steps  *runloop.Stepper
	timers *runloop.Timers
}

// Step passes a message of another core on.
func (c *groupCore) Step(from sched.Addr, m *sched.Message) {
	if c.core != nil {
		c.steps.Step(c.core, c.self, c.clock.Now(), from, m)
	}
}

// StepShell passes on what only the shell can know.
func (c *groupCore) StepShell(m *sched.Message) { c.Step(sched.Addr{}, m) }
