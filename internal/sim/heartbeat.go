package sim

import "github.com/pigeon-sched/pigeon/internal/sched"

// Heartbeats: every second a node sends an account of its workers, a master a sign of
// life, and each looks for whom it has not heard of for too long.
const (
	heartbeat   = sched.Second
	nodeLost    = 2 * sched.Second // without an account of a node
	masterLost  = 5 * sched.Second // without a sign of a master
	askAgain    = 4 * heartbeat    // without an answer to a worker's question, the first time
	askAgainMax = 64 * heartbeat
)

// beatAfter has a daemon's heart beat as long as it lives.
func (w *World) beatAfter(p *process, beat func()) {
	if w.byHand {
		return
	}
	var again func()
	again = func() {
		beat()
		w.after(p, heartbeat, again)
	}
	w.after(p, w.span(w.random, heartbeat), again)
}

func (w *World) nodeBeats(n *node) {
	w.snapshot(n)
	w.follow(&n.process)
	for _, x := range n.workers {
		if q := &x.asked; q.to != (sched.Addr{}) && w.now-q.since >= max(q.patience, askAgain) {
			q.since, q.patience = w.now, min(2*max(q.patience, askAgain), askAgainMax)
			w.post(w.encloseFrom(x, place{q.to.Role, int(q.to.ID)}, &q.msg))
		}
	}
}

func (w *World) frontendBeats(f *daemon) {
	w.follow(&f.process)
	w.loseSilent(f)
}

func (w *World) masterBeats(m *daemon) {
	for _, n := range w.nodes {
		if known, ok := m.registered[n.id]; ok && w.now-known.heard > nodeLost {
			w.logf("%s takes %s for lost, of which it has not heard for %s", m.place, n.place, seconds(w.now-known.heard))
			w.loseNode(n.id)
		}
	}
	w.loseSilent(m)
	if m.host == nil {
		return
	}
	for _, to := range append(w.everyone(sched.Distributor), w.masters...) {
		if to != m && (to.role == sched.Distributor || w.cfg.Policy.CrossGroup) && to.alive {
			e := w.enclose(m.place, to.place, nil)
			e.beat = true
			w.notify(e)
		}
	}
}

// loseSilent takes masters for lost that have been silent for too long.
func (w *World) loseSilent(d *daemon) {
	for g := range w.masters {
		if at, heard := d.heard[g]; heard && !d.lost[g] && w.now-at > masterLost {
			w.logf("%s takes master %d for lost, of which it has not heard for %s", d.place, g, seconds(w.now-at))
			w.loseMaster(d, g)
		}
	}
}

// hearOfMaster notes that a master lives; one that was taken for lost is reached again.
func (w *World) hearOfMaster(d *daemon, g int) {
	d.heard[g] = w.now
	if d.lost[g] && !w.byHand {
		d.lost[g] = false
		w.introduce(w.masters[g], d)
	}
}
