package sim

import (
	"github.com/pigeon-sched/pigeon/internal/membership/protocol"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Every second a node sends a snapshot and a master a heartbeat, and each daemon declares
// those lost that have been silent for too long.
const (
	heartbeat       = sched.Second
	nodeLost        = 2 * sched.Second // without a snapshot of the node
	masterLost      = 5 * sched.Second // without a heartbeat of the master
	ownerLost       = 4 * sched.Second // without a hello of the frontend, at its master
	requestRetry    = 4 * heartbeat    // without an answer to a worker's request; doubles with each repetition
	maxRequestRetry = 64 * heartbeat
)

// heartbeats makes daemons notice which masters they can reach.
type heartbeats struct {
	*cluster
	draws *draws
	net   *network
	hosts *hosts
}

// startDaemon calls beat every second while the daemon lives.
func (b *heartbeats) startDaemon(d *daemon, beat func()) {
	d.pauses = protocol.NewPauses(heartbeat)
	b.start(&d.process, func() {
		b.creditPause(d)
		beat()
	})
}

// start calls beat every second while the process lives.
func (b *heartbeats) start(p *process, beat func()) {
	if b.manual {
		return
	}
	var again func()
	again = func() {
		beat()
		b.after(p, heartbeat, again)
	}
	b.after(p, drawSpan(b.draws.random, heartbeat), again)
}

// creditPause does not count the time for which a daemon itself was paused since its last
// heartbeat as silence of the others: their messages of that time wait to be read.
func (b *heartbeats) creditPause(d *daemon) {
	away := d.pauses.Since(b.now)
	for g, at := range d.lastHeard {
		d.lastHeard[g] = min(at+away, b.now)
	}
	for i, known := range d.registered {
		known.lastHeard = min(known.lastHeard+away, b.now)
		d.registered[i] = known
	}
}

// loseSilentMasters declares masters lost that have been silent for too long.
func (b *heartbeats) loseSilentMasters(d *daemon) {
	for g := range b.masters {
		if at, heard := d.lastHeard[g]; heard && !d.lost[g] && b.now-at > masterLost {
			b.logf("%s declares master %d lost, which has been silent for %s", d.daemonID, g, seconds(b.now-at))
			b.loseMaster(d, g)
		}
	}
}

// masterResponded records that a master lives. A master that was declared lost becomes
// reachable again.
func (b *heartbeats) masterResponded(d *daemon, g int) {
	d.lastHeard[g] = b.now
	if d.lost[g] && !b.manual {
		d.lost[g] = false
		b.announceMaster(b.masters[g], d)
	}
}

// announceMaster makes a master reachable for a frontend or for another master.
func (b *heartbeats) announceMaster(m, to *daemon) {
	if m.alive && to.alive && m.host != nil {
		up := sched.Message{Kind: sched.MasterUp, Peer: sched.Addr{Role: sched.Master, ID: int32(m.id)}, Serves: m.serves} //nolint:gosec // groups are few
		b.net.sendOnLink(b.net.newEnvelope(m.daemonID, to.daemonID, &up))
		if to.role == sched.Distributor {
			b.registerOwner(to, m)
		}
	}
}

// loseMaster makes a frontend, or another master, declare a master lost, whether or not
// it is.
func (b *heartbeats) loseMaster(by *daemon, g int) {
	if by.alive && by.host != nil && !(by.role == sched.Master && by.id == g) {
		by.lost[g] = true
		b.hosts.stepCore(by.host, sched.Addr{}, &sched.Message{Kind: sched.MasterLost, Peer: sched.Addr{Role: sched.Master, ID: int32(g)}}) //nolint:gosec // groups are few
	}
}
