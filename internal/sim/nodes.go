package sim

import (
	"slices"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// node is a machine with its node monitor.
type node struct {
	process
	group   int
	spec    Node
	leader  daemonID // the master that it follows
	heard   int      // the last life of a master of its group that has answered it
	workers []*worker
	beats   int

	noMaster   sched.Time // since when it cannot reach its master, 0 while it can
	aloneBeats int        // since it knows that
	troubles   []trouble
}

// worker is one worker core of a node, with what the node monitor stores for it.
type worker struct {
	node     *node
	life     int // of the node
	slot     int // its place in the node
	host     *host
	core     sched.WorkerCore
	number   int32           // assigned by its master; under a single master all daemons use it
	launched []sched.Message // launches of the attempts that it holds
	kept     []keptReport    // not acknowledged
	pending  taskRequest
	input    *sched.Message // of the current step
	by       *envelope      // that brought it
}

// keptReport is a report that a node keeps until it is acknowledged.
type keptReport struct {
	sched.Message
	since sched.Time
}

// noNumber is the number of a worker that has not been assigned one.
const noNumber = -1

// slotState is the part of a node's snapshot about one worker.
type slotState struct {
	worker   *worker
	seq      uint64
	reserved bool
	running  *sched.Message // its launch
	held     []heldAttempt
	kept     []sched.AttemptID
	keptLong []sched.AttemptID // of these, since keptAfter at least
}

// heldAttempt is an attempt that a worker holds in addition to the running one.
type heldAttempt struct {
	launch    sched.Message
	suspended bool
}

// nodeShells imitates node monitors.
type nodeShells struct {
	*cluster
	draws      *draws
	net        *network
	hosts      *hosts
	check      *checker
	heartbeats *heartbeats
	publisher  *publisher
	fence      fence
}

// start starts a node monitor. The attempts of its former life are void.
func (sh *nodeShells) start(i int) {
	n := sh.nodes[i]
	n.life++
	n.alive = true
	n.clock = sh.draws.drawClock()
	n.heard = 0
	n.membership = membership{}
	n.workers = nil
	for k := range n.spec.Slots / sh.cfg.Policy.SlotsPerWorker() {
		n.workers = append(n.workers, sh.newWorker(n, k))
	}
	sh.hello(n)
	sh.heartbeats.start(&n.process, func() { sh.heartbeat(n) })
}

func (sh *nodeShells) newWorker(n *node, slot int) *worker {
	x := &worker{node: n, life: n.life, slot: slot, number: noNumber}
	if sh.cfg.Policy.SingleMaster() {
		x.number = int32(len(sh.byNumber)) //nolint:gosec // workers are few
		sh.byNumber = append(sh.byNumber, x)
	}
	cfg := sched.WorkerConfig{
		Self: sched.Addr{Role: sched.Worker, ID: max(0, x.number)}, Seed: sh.cfg.Seed, Params: sh.cfg.Params,
		Master: sched.Addr{Role: sched.Master, ID: int32(n.group)}, Reserved: n.spec.Fixed && n.spec.Reserved, //nolint:gosec // groups are few
	}
	x.host = sh.hosts.addHost(sched.Worker, &n.process, func() validCore {
		core := sh.cfg.Policy.NewWorker(cfg)
		if x.core == nil {
			x.core = core
		}
		return core
	})
	x.host.worker = x
	return x
}

// kill ends a node monitor, its tasks, and the results that it keeps. The first keep
// messages on each of its links may still arrive.
func (sh *nodeShells) kill(i, keep int) {
	n := sh.nodes[i]
	n.alive = false
	n.troubled(sh.now, sh.now)
	for _, x := range n.workers {
		for _, run := range slices.Clone(sh.runs.byWorker[x.host.addr.ID]) {
			sh.runs.remove(run)
		}
		x.kept = nil
	}
	sh.net.dropTraffic(n.daemonID, keep)
}

// hello registers a node with the master of its group.
func (sh *nodeShells) hello(n *node) {
	e := sh.snapshotOf(n)
	e.hello = true
	sh.net.sendOnLink(e)
}

// sendSnapshot sends a node's snapshot to its master, and repeats the reports that were
// not acknowledged.
func (sh *nodeShells) sendSnapshot(n *node) {
	if !n.alive {
		return
	}
	sh.net.sendNotice(sh.snapshotOf(n))
	for _, x := range n.workers {
		for j := range x.kept {
			sh.net.sendOnLink(sh.net.workerEnvelope(x, daemonID{sched.Distributor, int(x.kept[j].Distributor.ID)}, &x.kept[j].Message))
		}
	}
}

func (sh *nodeShells) snapshotOf(n *node) *envelope {
	e := sh.net.newEnvelope(n.daemonID, n.leader, nil)
	e.slots = make([]slotState, len(n.workers))
	for i, x := range n.workers {
		e.slots[i] = sh.state(x)
	}
	return e
}

// state returns a worker's part of its node's snapshot: one of its attempts as running,
// the others as held.
func (sh *nodeShells) state(x *worker) slotState {
	slot := x.core.Slot()
	s := slotState{worker: x, seq: slot.Seq, reserved: slot.Reserved}
	x.launched = slices.DeleteFunc(x.launched, func(m sched.Message) bool { return !x.core.Holds(m.AttemptID()) })
	for i := range x.launched {
		launch := x.launched[i]
		_, r := sh.runs.find(x.host.addr, launch.AttemptID())
		runs := r != nil && r.running
		if sh.cfg.Policy.Sequenced {
			runs = slot.Running == launch.AttemptID()
		}
		if runs && s.running == nil {
			s.running = &launch
		} else {
			s.held = append(s.held, heldAttempt{launch, r != nil && !r.running})
		}
	}
	for i := range x.kept {
		id := x.kept[i].AttemptID()
		s.kept = append(s.kept, id)
		if sh.now-x.kept[i].since >= keptAfter {
			s.keptLong = append(s.keptLong, id)
		}
	}
	return s
}

// deliver steps the worker that a message is for.
func (sh *nodeShells) deliver(n *node, e *envelope, m *sched.Message) {
	x := n.workers[e.slot]
	if !sh.fence.admits(n, x, e, m) {
		return
	}
	by := sh.actsAs(e.from)
	from := sched.Addr{Role: by.role, ID: int32(by.id)} //nolint:gosec // daemons are few
	switch {
	case e.by != nil:
		from.ID = e.by.number
	case e.from == e.to:
		from = sched.Addr{}
	}
	if (m.Kind == sched.Launch || m.Kind == sched.NoTask) && x.pending.answeredBy(from, m) {
		x.pending = taskRequest{}
	}
	sh.check.yield(x, m)
	x.input, x.by = m, e
	sh.hosts.stepCore(x.host, from, m)
	x.input, x.by = nil, nil
	if id := m.AttemptID(); (m.Kind == sched.Launch || m.Kind == sched.Preempt) && x.core.Holds(id) {
		x.launched = slices.DeleteFunc(x.launched, func(l sched.Message) bool { return l.AttemptID() == id })
		x.launched = append(x.launched, *m)
	}
}

// send sends a message of a worker. A report travels as a notice and is kept
// until it is acknowledged; Idle travels as a notice if it has a sequence number. A task
// that is returned to a frontend becomes a report without effect on the job, because
// reports are repeated.
func (sh *nodeShells) send(x *worker, a *sched.Action) {
	m := a.Msg
	if m.Kind == sched.Refused && a.To.Role == sched.Distributor {
		if _, r := sh.runs.find(x.host.addr, m.AttemptID()); r != nil {
			return
		}
		m = sched.Message{Kind: sched.Report, Job: m.Job, First: m.First, Attempt: m.Attempt, Outcome: sched.Yielded, Reason: m.Reason}
	}
	if a.To.Role == sched.Worker {
		sh.sendToPeer(x, a)
		return
	}
	to := daemonID{a.To.Role, int(a.To.ID)}
	if a.To.Role == sched.Master {
		to = x.node.leader
	}
	e := sh.net.workerEnvelope(x, to, &m)
	switch {
	case m.Kind == sched.Report:
		kept := keptReport{m, sh.now}
		kept.Distributor = a.To
		x.kept = append(x.kept, kept)
		sh.net.sendNotice(e)
	case m.Kind == sched.Idle && sh.cfg.Policy.Sequenced:
		sh.net.sendNotice(e)
	case m.Kind == sched.GetTask:
		x.pending = taskRequest{to: a.To, msg: m, since: sh.now}
		sh.net.sendOnLink(e)
	default:
		sh.net.sendOnLink(e)
	}
}

// sendToPeer sends a message of a worker to another worker.
func (sh *nodeShells) sendToPeer(x *worker, a *sched.Action) {
	to := sh.workerByNumber(nil, a.To.ID)
	if to == nil || to.node.life != to.life || !to.node.alive {
		return
	}
	e := sh.net.workerEnvelope(x, to.node.daemonID, &a.Msg)
	e.slot = to.slot
	sh.net.sendOnLink(e)
}

// runDue is called when a task has run for its duration.
func (sh *nodeShells) runDue(a alarm) {
	r := &sh.runs.slab[a.run]
	if p := sh.hosts.hostOf(r.worker).p; p.resumes > sh.now {
		sh.hosts.postpone(a, p.resumes)
		return
	}
	sh.halt(r)
	o := sched.Done
	if sh.draws.chance(Fail, failIn) {
		o = sched.Failed
	}
	sh.finish(a.run, o)
}

// reportEnded informs a worker that its run has ended. The end of a stopped run arrives
// as a message.
func (sh *nodeShells) reportEnded(at sched.Addr, m *sched.Message) {
	h := sh.hosts.hostOf(at)
	sh.check.over(m.AttemptID())
	switch m.Outcome {
	case sched.Killed:
		e := sh.net.newEnvelope(h.p.daemonID, h.p.daemonID, m)
		e.slot = h.worker.slot
		sh.net.sendOnLink(e)
		return
	case sched.Done:
		sh.check.ran[m.AttemptID()] = true
	default:
		m.Reason = "exit status 1"
	}
	sh.hosts.stepCore(h, sched.Addr{}, m)
}

// dropKept drops a report that its frontend has on its disk.
func (n *node) dropKept(id sched.AttemptID) {
	for _, x := range n.workers {
		x.kept = slices.DeleteFunc(x.kept, func(m keptReport) bool { return m.AttemptID() == id })
	}
}
