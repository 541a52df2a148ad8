package sim

import "github.com/pigeon-sched/pigeon/internal/sched"

// Every second a node sends a snapshot and a master a heartbeat, and each daemon declares
// those lost that have been silent for too long.
const (
	heartbeat       = sched.Second
	nodeLost        = 2 * sched.Second // without a snapshot of the node
	masterLost      = 5 * sched.Second // without a heartbeat of the master
	requestRetry    = 4 * heartbeat    // without an answer to a worker's request; doubles with each repetition
	maxRequestRetry = 64 * heartbeat
)

// startHeartbeat calls beat every second while the daemon lives.
func (w *world) startHeartbeat(p *process, beat func()) {
	if w.manual {
		return
	}
	var again func()
	again = func() {
		beat()
		w.after(p, heartbeat, again)
	}
	w.after(p, drawSpan(w.random, heartbeat), again)
}

func (w *world) nodeHeartbeat(n *node) {
	w.sendSnapshot(n)
	w.readMembership(&n.process)
	for _, x := range n.workers {
		if q := &x.pending; q.to != (sched.Addr{}) && w.now-q.since >= max(q.timeout, requestRetry) {
			q.since, q.timeout = w.now, min(2*max(q.timeout, requestRetry), maxRequestRetry)
			w.sendOnLink(w.workerEnvelope(x, daemonID{q.to.Role, int(q.to.ID)}, &q.msg))
		}
	}
}

func (w *world) frontendHeartbeat(f *daemon) {
	w.readMembership(&f.process)
	w.loseSilentMasters(f)
}

func (w *world) masterHeartbeat(m *daemon) {
	for _, n := range w.nodes {
		if known, ok := m.registered[n.id]; ok && w.now-known.lastHeard > nodeLost {
			w.logf("%s declares %s lost, which has been silent for %s", m.daemonID, n.daemonID, seconds(w.now-known.lastHeard))
			w.loseNode(n.id)
		}
	}
	w.loseSilentMasters(m)
	if m.host == nil {
		return
	}
	for _, to := range append(w.daemonsOf(sched.Distributor), w.masters...) {
		if to != m && (to.role == sched.Distributor || w.cfg.Policy.CrossGroup) && to.alive {
			e := w.newEnvelope(m.daemonID, to.daemonID, nil)
			e.beat = true
			w.sendNotice(e)
		}
	}
}

// loseSilentMasters declares masters lost that have been silent for too long.
func (w *world) loseSilentMasters(d *daemon) {
	for g := range w.masters {
		if at, heard := d.lastHeard[g]; heard && !d.lost[g] && w.now-at > masterLost {
			w.logf("%s declares master %d lost, which has been silent for %s", d.daemonID, g, seconds(w.now-at))
			w.loseMaster(d, g)
		}
	}
}

// masterResponded records that a master lives. A master that was declared lost becomes
// reachable again.
func (w *world) masterResponded(d *daemon, g int) {
	d.lastHeard[g] = w.now
	if d.lost[g] && !w.manual {
		d.lost[g] = false
		w.announceMaster(w.masters[g], d)
	}
}
