package nodemonitor

import (
	"time"

	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/nodemonitor/inventory"
	"github.com/pigeon-sched/pigeon/nodemonitor/results"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// newInventories makes the part that lists to each frontend what this node holds of it.
func (n *NodeMonitor) newInventories() *inventory.Inventories {
	o := n.owner
	return inventory.New(inventory.Config{
		Self: &n.self.Sender, Held: o.held, Frontend: o.results.Reachable, Calls: n.calls, Unwanted: o.unwanted, Restarted: o.results.Renew, NoMaster: n.noMaster,
		Now: o.instant, Post: n.do, Log: n.log, Metrics: n.metrics.inventory,
	}, o.clock.Now(), uint64(n.self.Incarnation)) //nolint:gosec // positive
}

// noMasterAfter is the time without agreement between a node and its master that the node is
// registered, after which the node lists more often to the frontends what it holds: well
// before a frontend gives up the master, which takes 5 s.
const noMasterAfter = 2 * time.Second

// noMaster reports whether this node cannot reach its master.
func (n *NodeMonitor) noMaster() bool {
	return time.Since(n.registration.Contact().Since) >= max(noMasterAfter, 2*n.cfg.Heartbeat)
}

// held calls visit for every attempt that is at a worker, and for every attempt whose
// result is kept.
func (o *owner) held(visit func(*inventory.Attempt)) {
	o.workers.EachAttempt(func(id sched.AttemptID, owner sched.Addr, address string, slot int32) {
		visit(&inventory.Attempt{ID: id, Distributor: owner, Address: address, Slot: slot})
	})
	o.results.Each(0, func(owner sched.Addr, r *results.Result) bool {
		visit(&inventory.Attempt{ID: r.ID, Distributor: owner, Slot: r.Slot})
		return true
	})
}

// unwanted stops attempts that their frontend does not want, and forgets their results.
func (o *owner) unwanted(frontend sched.Addr, attempts []sched.AttemptID) (stopped, forgotten int) {
	return o.workers.StopUnwanted(frontend, attempts), o.results.Forget(frontend, attempts)
}

// frontendSeen is called when this node learns of a frontend, with its process and the
// address where that serves other daemons. A frontend that nothing here names is ignored.
func (o *owner) frontendSeen(ref wire.Ref, address string, incarnation int64) {
	at, known := o.addrs.Find(ref)
	if !known || ref.Role != sched.Distributor {
		return
	}
	if o.inventories.Superseded(at, incarnation) {
		return // what it sent comes late
	}
	o.results.Reached(at, address)
	if o.inventories.Seen(at, incarnation) {
		o.results.Renew(at)
	}
}

// frontendAnswered is called with each answer to a report of results. The first process that
// answers already has what was just sent.
func (o *owner) frontendAnswered(frontend sched.Addr, incarnation int64, recovered bool) {
	known := o.inventories.Known(frontend)
	if o.inventories.Seen(frontend, incarnation) {
		if known {
			o.results.Renew(frontend)
		}
	} else if recovered {
		o.inventories.Due(frontend)
	}
}

// applyMembership applies a membership, which also names the processes of the frontends.
func (o *owner) applyMembership(m *wire.Membership) {
	o.members.Apply(m)
	for i := range m.Frontends {
		f := &m.Frontends[i]
		o.frontendSeen(wire.Ref{Role: sched.Distributor, Name: f.Name}, f.Address, f.Incarnation)
	}
}
