package sim

import "github.com/pigeon-sched/pigeon/internal/sched"

// registrations holds what a master knows of its nodes and their workers, and whose
// payloads it keeps.
type registrations struct {
	members    []member // its workers, by number
	registered map[int]registration
	payloads   map[sched.JobID]bool
}

// member is a worker from its master's point of view.
type member struct {
	worker   *worker // nil: never registered
	gone     bool
	reserved bool // as the master last set it
}

// registration is a node from its master's point of view.
type registration struct {
	life      int
	lastHeard sched.Time
}

// receiveSnapshot processes a node's snapshot at its master: the node registers, or the
// master catches up on lost notices.
func (sh *masterShells) receiveSnapshot(m *daemon, e *envelope) {
	n := sh.nodes[e.from.id]
	known, ok := m.registered[n.id]
	switch {
	case n.leader != m.daemonID: // another master numbers its workers by now
	case !ok && !e.hello && !sh.manual && !sh.cfg.Policy.Sequenced:
		// The snapshot may be out of date, and without sequence numbers the master
		// cannot know. The node says hello instead.
		if n.alive && n.life == e.fromLife {
			sh.after(&n.process, sh.draws.drawDelay(), func() { sh.nodeShells.hello(n) })
		}
	case !ok:
		sh.register(m, n, e)
	case known.life == e.fromLife:
		m.registered[n.id] = registration{e.fromLife, sh.now}
		for k := range e.slots {
			sh.reportIdle(m, &e.slots[k])
			sh.reportKept(m, &e.slots[k])
		}
	case known.life < e.fromLife:
		if sh.loseNode(n.id); m.registered[n.id].life == 0 {
			sh.receiveSnapshot(m, e)
		}
	}
}

// reportIdle informs the core of a worker that is idle.
func (sh *masterShells) reportIdle(m *daemon, s *slotState) {
	if s.running != nil || !m.hasWorker(s.worker) {
		return
	}
	free := sched.Message{Kind: sched.Idle, Seq: s.seq}
	for i := range s.held {
		if s.held[i].suspended {
			free.Kept = append(free.Kept, s.held[i].launch.AttemptID())
		}
	}
	sh.hosts.stepCore(m.host, sched.Addr{Role: sched.Worker, ID: s.worker.number}, &free)
}

// reportKept informs the core of results that a node has kept for long.
func (sh *masterShells) reportKept(m *daemon, s *slotState) {
	if len(s.keptLong) > 0 && m.hasWorker(s.worker) {
		sh.hosts.stepCore(m.host, sched.Addr{}, &sched.Message{
			Kind: sched.ResultsKept, Peer: sched.Addr{Role: sched.Worker, ID: s.worker.number}, Kept: s.keptLong,
		})
	}
}

// register adds a node's workers to the master's. Each gets a new number from the master
// of a group; under a single master it keeps its number.
func (sh *masterShells) register(m *daemon, n *node, e *envelope) {
	m.registered[n.id] = registration{e.fromLife, sh.now}
	for k := range e.slots {
		s, x := &e.slots[k], e.slots[k].worker
		if !sh.cfg.Policy.SingleMaster() {
			x.number = int32(len(m.members)) //nolint:gosec // workers are few
		}
		for int(x.number) >= len(m.members) {
			m.members = append(m.members, member{})
		}
		m.members[x.number] = member{worker: x, reserved: n.spec.Fixed && n.spec.Reserved}
		up := sched.Message{
			Kind: sched.WorkerUp, Peer: sched.Addr{Role: sched.Worker, ID: x.number}, Node: n.String(), Serves: n.spec.Serves, Seq: s.seq,
			Reserved: s.reserved, Fixed: n.spec.Fixed, Kept: s.kept,
		}
		again := up
		again.Reserved, again.Fixed, again.Kept = false, false, nil
		if s.running != nil {
			m.recordAttempt(&up, s.running)
		}
		sh.hosts.stepCore(m.host, sched.Addr{}, &up)
		for i := range s.held {
			held := again
			m.recordAttempt(&held, &s.held[i].launch)
			sh.hosts.stepCore(m.host, sched.Addr{}, &held)
		}
	}
	sh.publisher.publish()
	sh.answerHello(m, n, e.fromLife)
}

// recordAttempt adds the attempt of a launch to the registration of its worker. The
// master keeps the payload from then on.
func (r *registrations) recordAttempt(up, launch *sched.Message) {
	stateAttempt(up, launch)
	r.payloads[launch.Job] = true
}

// hasWorker reports whether a worker is registered with the master.
func (r *registrations) hasWorker(x *worker) bool {
	if x.number < 0 || int(x.number) >= len(r.members) {
		return false
	}
	known := &r.members[x.number]
	return known.worker == x && !known.gone
}

// loseNode makes the master of a node declare it lost, whether or not it is.
func (sh *masterShells) loseNode(i int) {
	m := sh.daemon(sh.nodes[i].leader)
	if _, known := m.registered[i]; !known || !m.alive {
		return
	}
	delete(m.registered, i)
	sh.nodes[i].troubled(sh.now, sh.now)
	if !sh.manual && !sh.cfg.Policy.Sequenced { // sequenced launches may arrive late, since they name the state they were made for
		sh.net.dropQueued(route{m.daemonID, sh.nodes[i].daemonID}, func(*envelope) bool { return true })
	}
	for id := range m.members {
		if x := &m.members[id]; x.worker != nil && x.worker.node.id == i && !x.gone {
			x.gone = true
			sh.hosts.stepCore(m.host, sched.Addr{}, &sched.Message{Kind: sched.WorkerLost, Peer: sched.Addr{Role: sched.Worker, ID: int32(id)}, Reason: "its node was lost"}) //nolint:gosec // workers are few
		}
	}
	sh.publisher.publish()
}
