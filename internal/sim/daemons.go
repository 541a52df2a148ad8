package sim

import "github.com/pigeon-sched/pigeon/internal/sched"

// startMaster starts the master of a group: the first one, or a successor.
func (w *world) startMaster(g int) {
	m := w.masters[g]
	m.life++
	m.epoch++
	m.alive, m.started = true, w.now
	m.clock = w.drawClock()
	m.members, m.registered, m.serves, m.payloads = nil, map[int]registration{}, []string{}, map[sched.JobID]bool{}
	m.lost, m.lastHeard, m.shortInRow = map[int]bool{}, map[int]sched.Time{}, 0
	if m.life > 1 {
		m.publishFrom = w.now + publishAfter
	}
	cfg := sched.MasterConfig{
		Self: sched.Addr{Role: sched.Master, ID: int32(g)}, Seed: w.cfg.Seed, Params: w.cfg.Params, //nolint:gosec // groups are few
		MaxTasks: w.faults.MaxTasks, Recover: m.life > 1,
	}
	if w.cfg.Policy.NewMaster != nil {
		m.core = nil
		m.host = w.addHost(sched.Master, &m.process, func() validCore {
			core := w.cfg.Policy.NewMaster(cfg)
			if m.core == nil {
				m.core = core
			}
			return core
		})
		m.host.daemon = m
		w.stepCore(m.host, sched.Addr{}, &sched.Message{Kind: sched.EpochIs, Epoch: m.epoch})
	}
	for _, n := range w.nodes {
		if n.group == g && n.alive {
			w.whenResumed(&n.process, func() { w.hello(n) })
		}
	}
	for _, f := range w.frontends {
		w.announceMaster(m, f)
	}
	for _, o := range w.masters {
		if o != m && w.cfg.Policy.CrossGroup {
			w.announceMaster(m, o)
			w.announceMaster(o, m)
		}
	}
	w.startHeartbeat(&m.process, func() { w.masterHeartbeat(m) })
}

// announceMaster makes a master reachable for a frontend or for another master.
func (w *world) announceMaster(m, to *daemon) {
	if m.alive && to.alive && m.host != nil {
		up := sched.Message{Kind: sched.MasterUp, Peer: sched.Addr{Role: sched.Master, ID: int32(m.id)}, Serves: m.serves} //nolint:gosec // groups are few
		w.sendOnLink(w.newEnvelope(m.daemonID, to.daemonID, &up))
	}
}

// killMaster ends a master. The first keep messages on each of its links may still
// arrive.
func (w *world) killMaster(g, keep int) {
	w.masters[g].alive = false
	w.dropTraffic(w.masters[g].daemonID, keep)
}

// loseMaster makes a frontend, or another master, declare a master lost, whether or not
// it is.
func (w *world) loseMaster(by *daemon, g int) {
	if by.alive && by.host != nil && !(by.role == sched.Master && by.id == g) {
		by.lost[g] = true
		w.stepCore(by.host, sched.Addr{}, &sched.Message{Kind: sched.MasterLost, Peer: sched.Addr{Role: sched.Master, ID: int32(g)}}) //nolint:gosec // groups are few
	}
}

// startFrontend starts a frontend, which restores its journal.
func (w *world) startFrontend(i int) {
	f := w.frontends[i]
	f.life++
	f.alive = true
	f.clock = w.drawClock()
	f.membership, f.lastHeard, f.waiting, f.syncing = membership{}, map[int]sched.Time{}, nil, false
	if f.lost == nil {
		f.lost = map[int]bool{}
	}
	cfg := sched.DistributorConfig{Self: sched.Addr{Role: sched.Distributor, ID: int32(i)}, Seed: w.cfg.Seed, Params: w.cfg.Params} //nolint:gosec // frontends are few
	f.host = w.addHost(sched.Distributor, &f.process, func() validCore { return w.cfg.Policy.NewDistributor(cfg) })
	f.host.daemon = f
	w.restore(f)
	if !f.alive {
		return
	}
	for g, m := range w.masters {
		switch {
		case m.alive:
			w.announceMaster(m, f)
		case f.lost[g]:
			w.loseMaster(f, g)
		}
	}
	w.announceFrontend(f)
	w.startHeartbeat(&f.process, func() { w.frontendHeartbeat(f) })
}

// killFrontend ends a frontend. The first keep messages on each of its links may still
// arrive; its journal loses at most unwritten records, none of which is on its disk.
func (w *world) killFrontend(i, keep, unwritten int) {
	f := w.frontends[i]
	f.alive = false
	f.journal = f.journal[:max(f.synced, len(f.journal)-unwritten)]
	w.dropTraffic(f.daemonID, keep)
	w.recount(f)
}

// sendFrom sends a message of a core.
func (w *world) sendFrom(self sched.Addr, a *sched.Action) {
	h := w.hostOf(self)
	switch {
	case h.worker != nil:
		w.sendFromWorker(h.worker, a)
	case a.To.Role == sched.Worker:
		w.sendToWorker(h.daemon, a)
	case a.To.ID == sched.Everyone:
		if a.Msg.Kind == sched.Serves {
			h.daemon.serves = a.Msg.Serves
		}
		for _, to := range w.daemonsOf(a.To.Role) {
			if to != h.daemon {
				w.sendOnLink(w.newEnvelope(h.p.daemonID, to.daemonID, &a.Msg))
			}
		}
	default:
		w.sendOnLink(w.newEnvelope(h.p.daemonID, daemonID{a.To.Role, int(a.To.ID)}, &a.Msg))
	}
}

func (w *world) daemonsOf(r sched.Role) []*daemon {
	if r == sched.Master {
		return w.masters
	}
	return w.frontends
}

// sendToWorker sends a message of a master or a frontend to a worker, which the message
// names by number.
func (w *world) sendToWorker(d *daemon, a *sched.Action) {
	to := w.workerByNumber(d, a.To.ID)
	if d.role == sched.Master {
		w.checkLaunch(d, a)
	}
	if to == nil || to.node.life != to.life || !to.node.alive {
		return
	}
	e := w.newEnvelope(d.daemonID, to.node.daemonID, &a.Msg)
	e.slot = to.slot
	w.sendOnLink(e)
}

// workerByNumber returns the worker that a sender means by a number, or nil.
func (w *world) workerByNumber(by *daemon, number int32) *worker {
	list := w.byNumber
	if by != nil && by.role == sched.Master && !w.cfg.Policy.SingleMaster() {
		if int(number) >= len(by.members) {
			return nil
		}
		return by.members[number].worker
	}
	if int(number) >= len(list) {
		return nil
	}
	return list[number]
}

func (w *world) deliverToFrontend(f *daemon, e *envelope, m *sched.Message) {
	from := sched.Addr{Role: e.from.role, ID: int32(e.from.id)} //nolint:gosec // daemons are few
	switch {
	case e.from.role == sched.Master:
		w.masterResponded(f, e.from.id)
		if e.beat {
			return
		}
		if m.Kind == sched.MasterUp {
			from = sched.Addr{}
			f.lost[e.from.id] = false
		}
	case e.from.role == sched.Worker && w.cfg.Policy.SingleMaster():
		from.ID = e.by.number
	}
	w.stepCore(f.host, from, m)
	if m.Kind == sched.Report && f.alive {
		w.acknowledge(f, e)
	}
}

func (w *world) deliverToMaster(m *daemon, e *envelope, msg *sched.Message) {
	switch {
	case e.slots != nil:
		w.receiveSnapshot(m, e)
		return
	case e.from.role == sched.Worker:
		if m.hasWorker(e.by) {
			w.stepCore(m.host, sched.Addr{Role: sched.Worker, ID: e.by.number}, msg)
		}
		return
	}
	from := sched.Addr{Role: e.from.role, ID: int32(e.from.id)} //nolint:gosec // daemons are few
	if e.from.role == sched.Master {
		w.masterResponded(m, e.from.id)
		if e.beat {
			return
		}
	}
	switch msg.Kind {
	case sched.Tasks:
		m.payloads[msg.Job] = true
	case sched.MasterUp:
		from = sched.Addr{}
		m.lost[e.from.id] = false
	}
	w.stepCore(m.host, from, msg)
}

// forget is called when a core holds nothing of a job any longer.
func (w *world) forget(self sched.Addr, job sched.JobID) {
	if d := w.hostOf(self).daemon; d != nil {
		delete(d.payloads, job)
	}
}

// drawClock draws the clock of a process.
func (w *world) drawClock() clock {
	if !w.faults.Kinds.Has(Drift) {
		return clock{}
	}
	return clock{start: drawSpan(w.random, 100*sched.Second), ppm: sched.Time(w.random.IntN(2001) - 1000)}
}
