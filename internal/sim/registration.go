package sim

import "github.com/pigeon-sched/pigeon/internal/sched"

// receiveSnapshot processes a node's snapshot at its master: the node registers, or the
// master catches up on lost notices.
func (w *world) receiveSnapshot(m *daemon, e *envelope) {
	n := w.nodes[e.from.id]
	known, ok := m.registered[n.id]
	switch {
	case !ok && !e.hello && !w.manual && !w.cfg.Policy.Sequenced:
		// The snapshot may be out of date, and without sequence numbers the master
		// cannot tell. The node says hello instead.
		if n.alive && n.life == e.fromLife {
			w.after(&n.process, w.drawDelay(), func() { w.hello(n) })
		}
	case !ok:
		w.register(m, n, e)
	case known.life == e.fromLife:
		m.registered[n.id] = registration{e.fromLife, w.now}
		for k := range e.slots {
			w.reportIdle(m, &e.slots[k])
		}
	case known.life < e.fromLife:
		if w.loseNode(n.id); m.registered[n.id].life == 0 {
			w.receiveSnapshot(m, e)
		}
	}
}

// reportIdle informs the core of a worker that is idle.
func (w *world) reportIdle(m *daemon, s *slotState) {
	if s.running != nil || !m.hasWorker(s.worker) {
		return
	}
	free := sched.Message{Kind: sched.Idle, Seq: s.seq}
	for i := range s.held {
		if s.held[i].suspended {
			free.Kept = append(free.Kept, s.held[i].launch.AttemptID())
		}
	}
	w.stepCore(m.host, sched.Addr{Role: sched.Worker, ID: s.worker.number}, &free)
}

// register adds a node's workers to the master's. Each gets a new number from the master
// of a group; under a single master it keeps its number.
func (w *world) register(m *daemon, n *node, e *envelope) {
	m.registered[n.id] = registration{e.fromLife, w.now}
	for k := range e.slots {
		s, x := &e.slots[k], e.slots[k].worker
		if !w.cfg.Policy.SingleMaster() {
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
		w.stepCore(m.host, sched.Addr{}, &up)
		for i := range s.held {
			held := again
			m.recordAttempt(&held, &s.held[i].launch)
			w.stepCore(m.host, sched.Addr{}, &held)
		}
	}
	w.publish(m)
}

// recordAttempt adds the attempt of a launch to the registration of its worker. The
// master keeps the payload from then on.
func (d *daemon) recordAttempt(up, launch *sched.Message) {
	up.Job, up.First, up.Attempt = launch.Job, launch.First, launch.Attempt
	up.Owner, up.Class, up.App, up.Estimate = launch.Owner, launch.Class, launch.App, launch.Estimate
	d.payloads[launch.Job] = true
}

// hasWorker reports whether a worker is registered with the master.
func (d *daemon) hasWorker(x *worker) bool {
	if x.number < 0 || int(x.number) >= len(d.members) {
		return false
	}
	known := &d.members[x.number]
	return known.worker == x && !known.gone
}

// loseNode makes the master of a node declare it lost, whether or not it is.
func (w *world) loseNode(i int) {
	m := w.masters[w.nodes[i].group]
	if _, known := m.registered[i]; !known || !m.alive {
		return
	}
	if w.recoveryDefect(m) {
		w.after(&m.process, sched.Second, func() { w.loseNode(i) })
		return
	}
	delete(m.registered, i)
	if !w.manual && !w.cfg.Policy.Sequenced { // sequenced launches may arrive late, since they name the state they were made for
		w.dropQueued(route{m.daemonID, w.nodes[i].daemonID}, func(*envelope) bool { return true })
	}
	for id := range m.members {
		if x := &m.members[id]; x.worker != nil && x.worker.node.id == i && !x.gone {
			x.gone = true
			w.stepCore(m.host, sched.Addr{}, &sched.Message{Kind: sched.WorkerLost, Peer: sched.Addr{Role: sched.Worker, ID: int32(id)}, Reason: "its node was lost"}) //nolint:gosec // workers are few
		}
	}
	w.publish(m)
}
