package sim

import "github.com/pigeon-sched/pigeon/internal/sched"

// masterShells imitates the daemons around the cores of masters.
type masterShells struct {
	*cluster
	faults     *Faults
	draws      *draws
	net        *network
	hosts      *hosts
	heartbeats *heartbeats
	publisher  *publisher
	nodeShells *nodeShells
}

// start starts the master of a group: the first one, or a successor.
func (sh *masterShells) start(g int) {
	m := sh.masters[g]
	m.life++
	m.epoch++
	m.alive, m.started = true, sh.now
	m.clock = sh.draws.drawClock()
	m.registrations = registrations{registered: map[int]registration{}, payloads: map[sched.JobID]bool{}}
	m.serves = []string{}
	m.met = map[daemonID]int{}
	m.lost, m.lastHeard, m.shortInRow = map[int]bool{}, map[int]sched.Time{}, 0
	if m.life > 1 {
		sh.publisher.from = sh.now + publishAfter
	}
	cfg := sched.MasterConfig{
		Self: sched.Addr{Role: sched.Master, ID: int32(g)}, Seed: sh.cfg.Seed, Params: sh.cfg.Params, //nolint:gosec // groups are few
		MaxTasks: sh.faults.MaxTasks, Recover: m.life > 1,
	}
	if sh.cfg.Policy.NewMaster != nil {
		m.core = nil
		m.host = sh.hosts.addHost(sched.Master, &m.process, func() validCore {
			core := sh.cfg.Policy.NewMaster(cfg)
			if m.core == nil {
				m.core = core
			}
			return core
		})
		m.host.daemon = m
		sh.hosts.stepCore(m.host, sched.Addr{}, &sched.Message{Kind: sched.EpochIs, Epoch: m.epoch})
		if shares := sh.cfg.setShares(); shares != nil {
			sh.hosts.stepCore(m.host, sched.Addr{}, shares)
		}
	}
	for _, n := range sh.nodes {
		if n.leader == m.daemonID && n.alive {
			sh.whenResumed(&n.process, func() { sh.nodeShells.hello(n) })
		}
	}
	for _, f := range sh.frontends {
		sh.heartbeats.announceMaster(m, f)
	}
	for _, o := range sh.masters {
		if o != m && sh.cfg.Policy.CrossGroup {
			sh.heartbeats.announceMaster(m, o)
			sh.heartbeats.announceMaster(o, m)
		}
	}
	sh.heartbeats.startDaemon(m, func() { sh.heartbeat(m) })
}

// kill ends a master. The first keep messages on each of its links may still
// arrive.
func (sh *masterShells) kill(g, keep int) {
	sh.masters[g].alive = false
	sh.net.dropTraffic(sh.masters[g].daemonID, keep)
}

func (sh *masterShells) heartbeat(m *daemon) {
	if m.id < 0 {
		return
	}
	for _, n := range sh.nodes {
		if known, ok := m.registered[n.id]; ok && sh.now-known.lastHeard > nodeLost {
			sh.logf("%s declares %s lost, which has been silent for %s", m.daemonID, n.daemonID, seconds(sh.now-known.lastHeard))
			sh.loseNode(n.id)
		}
	}
	sh.heartbeats.loseSilentMasters(m)
	if m.host == nil {
		return
	}
	for _, to := range append(sh.daemonsOf(sched.Distributor), sh.masters...) {
		if to != m && (to.role == sched.Distributor || sh.cfg.Policy.CrossGroup) && to.alive {
			e := sh.net.newEnvelope(m.daemonID, to.daemonID, nil)
			e.beat = true
			sh.net.sendNotice(e)
		}
	}
}

func (sh *masterShells) deliver(m *daemon, e *envelope, msg *sched.Message) {
	switch {
	case e.slots != nil:
		sh.receiveSnapshot(m, e)
		return
	case e.from.role == sched.Worker:
		if m.hasWorker(e.by) {
			sh.hosts.stepCore(m.host, sched.Addr{Role: sched.Worker, ID: e.by.number}, msg)
		}
		return
	}
	if sh.superseded(m, e) {
		return
	}
	by := sh.actsAs(e.from)
	from := sched.Addr{Role: by.role, ID: int32(by.id)} //nolint:gosec // daemons are few
	if by.role == sched.Master {
		sh.heartbeats.masterResponded(m, by.id)
		if e.beat {
			return
		}
	}
	switch msg.Kind {
	case sched.Tasks:
		m.payloads[msg.Job] = true
	case sched.DistributorUp:
		from = sched.Addr{}
	case sched.MasterUp:
		from = sched.Addr{}
		m.lost[by.id] = false
	}
	sh.hosts.stepCore(m.host, from, msg)
}

// loseOwners makes a master notice that it and a frontend, or with nil all frontends, have
// not reached each other.
func (sh *masterShells) loseOwners(m, only *daemon) {
	for _, f := range sh.frontends {
		if m.alive && m.host != nil && (only == nil || only == f) {
			sh.hosts.stepCore(m.host, sched.Addr{}, &sched.Message{Kind: sched.DistributorAway, Distributor: sched.Addr{Role: sched.Distributor, ID: int32(f.id)}}) //nolint:gosec // frontends are few
		}
	}
}
