package nodemonitor

import (
	"github.com/pigeon-sched/pigeon/nodemonitor/backend/app"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend/guard"
	"github.com/pigeon-sched/pigeon/nodemonitor/backends"
)

// backendEvents passes the events of backends to the owner goroutine.
type backendEvents struct{ n *NodeMonitor }

var _ backends.Events = backendEvents{}

// SlotAdded implements backends.Events.
func (e backendEvents) SlotAdded(s app.Slot) { e.n.do(func() { e.n.owner.workers.AddClassic(s) }) }

// SlotGone implements backends.Events.
func (e backendEvents) SlotGone(s app.Slot, reason string) {
	e.n.do(func() { e.n.owner.workers.RemoveClassic(s, reason) })
}

// DiskChanged implements backends.Events.
func (e backendEvents) DiskChanged(fault string) { e.n.do(func() { e.n.diskChanged(fault) }) }

// GuardChanged implements backends.Events.
func (e backendEvents) GuardChanged(h guard.Health) { e.n.do(func() { e.n.guardChanged(h) }) }

// ServesChanged implements backends.Events.
func (e backendEvents) ServesChanged() {
	e.n.do(func() { e.n.owner.workers.SetServes(e.n.backends.Serves()) })
}
