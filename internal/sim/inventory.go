package sim

import "github.com/pigeon-sched/pigeon/internal/sched"

// After a restart each side reports what it holds: masters answer a frontend that is a
// new process, and nodes report to it at once and every few seconds.
const (
	inventoryEvery = 5                // heartbeats
	noMasterEvery  = 2                // heartbeats, between inventories while the node cannot reach its master
	noMasterAfter  = 2 * sched.Second // a node that its master has not answered for this long
	keptAfter      = 5 * sched.Second // a result that is kept for this long is reported to the master
)

// firstAttempt returns the first number of the attempts of a frontend's present life; 0
// is 1.
func (f *daemon) firstAttempt() int32 {
	if f.life == 1 {
		return 0
	}
	return int32(f.life-1)*sched.AttemptsPerLife + 1 //nolint:gosec // lives are few
}

// registerOwner registers a frontend with a master, as a new process if it was started
// again.
func (b *heartbeats) registerOwner(f, m *daemon) {
	if f.life > 1 {
		up := sched.Message{Kind: sched.DistributorUp, Distributor: sched.Addr{Role: sched.Distributor, ID: int32(f.id)}} //nolint:gosec // frontends are few
		b.net.sendOnLink(b.net.newEnvelope(f.daemonID, m.daemonID, &up))
	}
}

// inventoryDue reports whether a node lists now what it holds: every few heartbeats, and
// more often, from the first one on, while it cannot reach its master.
func (sh *nodeShells) inventoryDue(n *node) bool {
	if sh.cfg.Policy.NewMaster != nil && !sh.reachesMaster(n) {
		if n.noMaster == 0 {
			n.noMaster = sh.now
		}
		if sh.now-n.noMaster >= noMasterAfter {
			n.aloneBeats++
			return (n.aloneBeats-1)%noMasterEvery == 0
		}
	} else {
		n.noMaster, n.aloneBeats = 0, 0
	}
	return n.beats%inventoryEvery == 0
}

// reachesMaster reports whether the master of a node would answer it.
func (sh *nodeShells) reachesMaster(n *node) bool {
	m := sh.daemon(n.leader)
	return m.alive && m.resumes <= sh.now && !sh.net.blocked(route{n.daemonID, m.daemonID}) && !sh.net.blocked(route{m.daemonID, n.daemonID})
}

// sendInventory reports to a frontend what a node holds of it, a message for each
// worker that holds something.
func (sh *nodeShells) sendInventory(n *node, f *daemon) {
	if !n.alive {
		return
	}
	for _, x := range n.workers {
		sh.state(x) // forgets the launches that have ended
		m := sched.Message{Kind: sched.Held}
		for i := range x.launched {
			if int(x.launched[i].Distributor.ID) == f.id {
				m.Kept = append(m.Kept, x.launched[i].AttemptID())
			}
		}
		for i := range x.kept {
			if int(x.kept[i].Distributor.ID) == f.id {
				m.Kept = append(m.Kept, x.kept[i].AttemptID())
			}
		}
		if len(m.Kept) > 0 {
			sh.net.sendOnLink(sh.net.workerEnvelope(x, f.daemonID, &m))
		}
	}
}
