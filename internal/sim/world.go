package sim

import "github.com/pigeon-sched/pigeon/internal/sched"

// world is a cluster with faults: the engine, and imitated daemons around its cores.
//
//	engine ──actions──▶ world ──envelopes──▶ network ──▶ shells ──inputs──▶ hosts ──▶ engine
//	                                                       └── journal, registrations, heartbeats, publisher
//
// The world connects the components, which hold the state. The numbers that cores use for
// daemons and workers are translated where messages are sent and received.
type world struct {
	*cluster
	draws          *draws
	net            *network
	hosts          *hosts
	check          *checker
	history        *history
	heartbeats     *heartbeats
	publisher      *publisher
	nodeShells     *nodeShells
	masterShells   *masterShells
	frontendShells *frontendShells
	plan           *faultPlan
	finished       bool
}

func newWorld(jobs []Job, cfg Config, f Faults) *world {
	c := newCluster(cfg, &f)
	d := &draws{random: sched.Rand(f.Seed, messageStream), kinds: f.Kinds, delay: cfg.Delay}
	check, steps := newChecker(&f), &history{}
	net := newNetwork(c, d)
	h := &hosts{engine: c.engine, check: check, history: steps}
	beats := &heartbeats{cluster: c, draws: d, net: net, hosts: h}
	pub := &publisher{cluster: c, draws: d, net: net, hosts: h}
	ns := &nodeShells{fence: fence{cluster: c, off: f.NoFence, check: check}, cluster: c, draws: d, net: net, hosts: h, check: check, heartbeats: beats, publisher: pub}
	ms := &masterShells{cluster: c, faults: &f, draws: d, net: net, hosts: h, heartbeats: beats, publisher: pub, nodeShells: ns}
	fs := &frontendShells{cluster: c, faults: &f, draws: d, net: net, hosts: h, check: check, heartbeats: beats, publisher: pub, nodeShells: ns}
	plan := &faultPlan{
		cluster: c, faults: &f, draws: d, net: net, check: check, heartbeats: beats, publisher: pub,
		nodeShells: ns, masterShells: ms, frontendShells: fs, tornAfter: -1,
	}
	w := &world{
		cluster: c, draws: d, net: net, hosts: h, check: check, history: steps, heartbeats: beats, publisher: pub,
		nodeShells: ns, masterShells: ms, frontendShells: fs, plan: plan,
	}
	c.world = w
	h.crash, net.unknown, net.refuse, net.deliver = plan.crashInStep, pub.senderUnknown, pub.refuseUnknown, w.deliver
	for _, j := range jobs {
		w.addJob(j)
	}
	for _, p := range c.frontends {
		p.journal = &journal{
			cluster: c, owner: &p.process, draws: d, fenced: !f.NoFence, refused: func() { fs.retire(p, 0) },
			counted: func(m *sched.Message) { check.countRecord(p, m) },
		}
	}
	return w
}

// startDaemons starts all daemons. Nothing is delivered yet.
func (w *world) startDaemons() {
	for g := range w.masters {
		w.masterShells.start(g)
	}
	for n := range w.nodes {
		w.nodeShells.start(n)
	}
	for f := range w.frontends {
		w.frontendShells.start(f)
	}
}

func (w *world) addJob(j Job) {
	w.result.Jobs = append(w.result.Jobs, JobOutcome{FirstTask: len(w.result.Starts)})
	for range j.Durations {
		w.result.Starts = append(w.result.Starts, -1)
	}
	w.work = append(w.work, j)
}

// deliver steps the core that a message is for.
func (w *world) deliver(e *envelope, m *sched.Message) {
	if w.check.err != nil {
		return
	}
	switch e.to.role {
	case sched.Distributor:
		w.frontendShells.deliver(w.daemon(e.to), e, m)
	case sched.Master:
		w.masterShells.deliver(w.daemon(e.to), e, m)
	default:
		w.nodeShells.deliver(w.nodes[e.to.id], e, m)
	}
}

// sendFrom sends a message of a core.
func (w *world) sendFrom(self sched.Addr, a *sched.Action) {
	h := w.hosts.hostOf(self)
	switch {
	case h.worker != nil:
		w.nodeShells.send(h.worker, a)
	case a.To.Role == sched.Worker:
		w.sendToWorker(h.daemon, a)
	case a.To.ID == sched.Everyone:
		if a.Msg.Kind == sched.Serves {
			h.daemon.serves = a.Msg.Serves
		}
		for _, to := range w.daemonsOf(a.To.Role) {
			if to != h.daemon {
				w.net.sendOnLink(w.net.newEnvelope(h.p.daemonID, to.daemonID, &a.Msg))
			}
		}
	default:
		w.net.sendOnLink(w.net.newEnvelope(h.p.daemonID, daemonID{a.To.Role, int(a.To.ID)}, &a.Msg))
	}
}

// sendToWorker sends a message of a master or a frontend to a worker, which the message
// names by number.
func (w *world) sendToWorker(d *daemon, a *sched.Action) {
	to := w.workerByNumber(d, a.To.ID)
	if d.role == sched.Master {
		w.check.launch(d, a)
	}
	if to == nil || to.node.life != to.life || !to.node.alive {
		return
	}
	e := w.net.newEnvelope(d.daemonID, to.node.daemonID, &a.Msg)
	e.slot = to.slot
	w.net.sendOnLink(e)
}

// forget is called when a core holds nothing of a job any longer.
func (w *world) forget(self sched.Addr, job sched.JobID) {
	if d := w.hosts.hostOf(self).daemon; d != nil {
		delete(d.payloads, job)
	}
}

// admits reports whether a worker has room for a task.
func (w *world) admits(self sched.Addr, m *sched.Message) bool {
	running := 0
	for _, i := range w.runs.byWorker[self.ID] {
		if w.runs.slab[i].running {
			running++
		}
	}
	return w.check.start(w.hosts.hostOf(self).worker, m, running, w.cfg.Policy.SlotsPerWorker(), w.now)
}
