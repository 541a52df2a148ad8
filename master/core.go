package master

import (
	"github.com/pigeon-sched/pigeon/internal/runloop"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// groupCore is the scheduling core of the group with its clock and timers. Under a policy
// without master cores core is nil, and view is that of the nodes.
type groupCore struct {
	self   sched.Addr
	core   sched.MasterCore // nil under a policy without masters
	view   sched.GroupView
	clock  runloop.Clock
	steps  *runloop.Stepper
	timers *runloop.Timers
	idle   bool // of a standby: nothing is stepped
}

// Step passes on a message of another core.
func (c *groupCore) Step(from sched.Addr, m *sched.Message) {
	if c.core != nil && !c.idle {
		c.steps.Step(c.core, c.self, c.clock.Now(), from, m)
	}
}

// StepShell passes on a message of the shell: a fact that no core sent.
func (c *groupCore) StepShell(m *sched.Message) { c.Step(sched.Addr{}, m) }
