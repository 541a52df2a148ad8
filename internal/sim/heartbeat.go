package sim

import "github.com/pigeon-sched/pigeon/internal/sched"

// Heartbeats: every second a node sends an account of its workers, a master a sign of
// life, and each looks for whom it has not heard of for too long.
const (
	heartbeat       = sched.Second
	nodeLost        = 2 * sched.Second // without an account of a node
	masterLost      = 5 * sched.Second // without a sign of a master
	requestRetry    = 4 * heartbeat    // without an answer to a worker's question, the first time
	maxRequestRetry = 64 * heartbeat
)

// startHeartbeat has a daemon's heart beat as long as it lives.
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
		if q := &x.pending; q.to != (sched.Addr{}) && w.now-q.since >= max(q.patience, requestRetry) {
			q.since, q.patience = w.now, min(2*max(q.patience, requestRetry), maxRequestRetry)
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
			w.logf("%s takes %s for lost, of which it has not heard for %s", m.daemonID, n.daemonID, seconds(w.now-known.lastHeard))
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

// loseSilentMasters takes masters for lost that have been silent for too long.
func (w *world) loseSilentMasters(d *daemon) {
	for g := range w.masters {
		if at, heard := d.lastHeard[g]; heard && !d.lost[g] && w.now-at > masterLost {
			w.logf("%s takes master %d for lost, of which it has not heard for %s", d.daemonID, g, seconds(w.now-at))
			w.loseMaster(d, g)
		}
	}
}

// masterResponded notes that a master lives; one that was taken for lost is reached again.
func (w *world) masterResponded(d *daemon, g int) {
	d.lastHeard[g] = w.now
	if d.lost[g] && !w.manual {
		d.lost[g] = false
		w.announceMaster(w.masters[g], d)
	}
}
