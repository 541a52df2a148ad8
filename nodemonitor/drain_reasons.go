package nodemonitor

import (
	"fmt"

	"github.com/pigeon-sched/pigeon/nodemonitor/backend/guard"
)

// # Why a node takes nothing new
//
//	stopping   its node monitor waits for what runs, and then ends (stop_wait.go)
//	drain      an operator has ordered it (drain.go)
//	disk       the disk of its work folder does not take what tasks write (package disk)
//	guard      what starts and kills its processes does not answer (package guard)
//
// They begin and end independently of each other. The node takes nothing new while any of them
// holds, and the first of those that hold is the reason that others see.

// whyNothingNew returns the reason, "" while the node takes tasks.
func (n *NodeMonitor) whyNothingNew() string {
	o := n.owner
	switch {
	case o.stopping:
		return fmt.Sprintf("node %s is stopping", n.cfg.ID)
	case o.drain != nil:
		return fmt.Sprintf("node %s is draining", n.cfg.ID)
	case o.fault() != "":
		return fmt.Sprintf("node %s takes nothing: %s", n.cfg.ID, o.fault())
	}
	return ""
}

// applyNothingNew makes the parts of the node take nothing new, or take tasks again, after a reason has
// begun or ended. It runs on the owner goroutine, or before that one runs.
func (n *NodeMonitor) applyNothingNew() {
	o := n.owner
	why := n.whyNothingNew()
	before, _ := o.workers.Draining()
	if why == "" && !before {
		return
	}
	n.draining.Store(why != "")
	n.backends.Applications().Drain(why)
	if why != "" {
		o.workers.Drain(why)
		return
	}
	n.log.Info("the node takes tasks again")
	o.workers.Resume()
	if o.policy.SingleMaster() {
		n.registration.RegisterAgain() // its workers receive new numbers
	}
}

// diskChanged is called with each fault of the disk of the work folder, and with "" when it is over.
func (n *NodeMonitor) diskChanged(fault string) {
	n.owner.diskFault = fault
	n.faulty.Store(fault != "")
	n.applyNothingNew()
	n.registration.SendSnapshot() // with the fault, which may be another one than before
}

// guardChanged is called with each change of the health of the guard.
func (n *NodeMonitor) guardChanged(h guard.Health) {
	if h.Fault != "" {
		n.log.Warn("the guard of this node's processes is at fault; the node takes nothing new until it is not", "error", h.Fault)
	} else {
		n.log.Info("the guard of this node's processes answers again")
	}
	n.owner.guardFault = h.Fault
	n.applyNothingNew()
	n.registration.SendSnapshot()
}

// fault returns why the node takes nothing new by itself, "" when it does.
func (o *owner) fault() string {
	switch {
	case o.diskFault != "":
		return "the disk of its work folder does not take what tasks write: " + o.diskFault
	case o.guardFault != "":
		return o.guardFault
	}
	return ""
}

// shownFault returns the fault of the node while it alone is why the node takes nothing new.
func (n *NodeMonitor) shownFault() string {
	if o := n.owner; o.stopping || o.drain != nil {
		return ""
	}
	return n.owner.fault()
}
