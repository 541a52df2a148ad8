package kairos

import (
	"slices"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Node is a worker core with N slots: it holds up to N + Q tasks, runs N of them,
// and lets the one with the least attained service go first.
//
// Invariant: while a task waits, N run.
type Node struct {
	cfg      sched.WorkerConfig
	o        Options
	tasks    []*task // in the order in which they came
	running  int
	epoch    uint64 // highest that a master spoke with
	received uint64 // number of the last launch
	token    uint64 // of the last quantum that began
	beat     beat
}

// task is an attempt at a node.
type task struct {
	id          sched.AttemptID
	distributor sched.Addr
	running     bool
	started     bool
	favored     bool       // in a run that is not interrupted
	service     sched.Time // attained before since
	since       sched.Time // it runs since
	passed      int        // quanta renewed over its head since it last ran
	quantum     uint64     // token of the running quantum
}

// attained is how long the task has run.
func (t *task) attained(now sched.Time) sched.Time {
	if t.running {
		return t.service + now - t.since
	}
	return t.service
}

// NewNode returns a node without tasks.
func NewNode(cfg sched.WorkerConfig, o Options) *Node {
	return &Node{cfg: cfg, o: o.resolved(cfg.Params), received: cfg.Seq}
}

// Slot implements [sched.WorkerCore]; the number is that of the last launch.
func (n *Node) Slot() sched.SlotView { return sched.SlotView{Seq: n.received} }

// Tasks returns how many tasks run here and how many wait.
func (n *Node) Tasks() (running, waiting int) { return n.running, len(n.tasks) - n.running }

// Running returns the first of the attempts that run; false when there is none.
func (n *Node) Running() (sched.AttemptID, bool) {
	for _, t := range n.tasks {
		if t.running {
			return t.id, true
		}
	}
	return sched.AttemptID{}, false
}

// Step implements [sched.Core].
func (n *Node) Step(now sched.Time, from sched.Addr, m *sched.Message, out *sched.Actions) {
	if !m.Valid() {
		return
	}
	switch m.Kind {
	case sched.Launch:
		n.launch(now, from, m, out)
	case sched.Kill:
		n.kill(now, m, out)
	case sched.Ended:
		n.ended(now, m, out)
	case sched.Timeout:
		if m.Token == beatToken {
			n.beatDue(now, out)
		} else {
			n.quantumDue(now, m.Token, out)
		}
	}
	n.setBeat(now, out)
}

func (n *Node) find(id sched.AttemptID) *task {
	for _, t := range n.tasks {
		if t.id == id {
			return t
		}
	}
	return nil
}

// launch accepts a task. The master numbers its launches to a node, so one that
// comes twice is known.
func (n *Node) launch(now sched.Time, from sched.Addr, m *sched.Message, out *sched.Actions) {
	switch {
	case m.Attempt < 1 || n.find(m.AttemptID()) != nil:
	case m.Epoch < n.epoch:
		n.refuse(from, m, sched.RefusedEpoch, out)
	case m.Seq <= n.received && m.Epoch == n.epoch:
		// It came before, and has ended.
	case m.Seq <= n.received:
		n.epoch = m.Epoch
		n.refuse(from, m, sched.RefusedWorkerChanged, out)
	case len(n.tasks) >= n.o.room():
		n.epoch, n.received = m.Epoch, m.Seq
		n.refuse(from, m, sched.RefusedFull, out)
	default:
		n.epoch, n.received = m.Epoch, m.Seq
		n.beat.changed = true
		t := &task{id: m.AttemptID(), distributor: m.Distributor}
		n.tasks = append(n.tasks, t)
		n.makeRoom(now, out)
		if n.running < n.o.Cores {
			n.run(now, t, n.o.Quantum, out)
		}
	}
}

// refuse refuses a launch and has a heartbeat sent, for the master's account of the
// node is wrong.
func (n *Node) refuse(to sched.Addr, m *sched.Message, why sched.Refusal, out *sched.Actions) {
	r := out.Send(to, sched.Refused)
	r.Job, r.First, r.Attempt, r.Seq, r.Reason = m.Job, m.First, m.Attempt, n.received, why.String()
	n.beat.owed = true
}

// kill stops an attempt; one that was never started leaves at once.
func (n *Node) kill(now sched.Time, m *sched.Message, out *sched.Actions) {
	switch t := n.find(m.AttemptID()); {
	case t == nil:
	case t.started:
		n.act(sched.Stop, t, out)
	default:
		n.leave(now, t, sched.Killed, "it was killed before it started", out)
	}
}

func (n *Node) ended(now sched.Time, m *sched.Message, out *sched.Actions) {
	if t := n.find(m.AttemptID()); t != nil && t.started {
		n.leave(now, t, m.Outcome, m.Reason, out)
	}
}

// leave removes a task, reports it to its distributor directly and to the
// master that there is room, and lets the next one run.
func (n *Node) leave(now sched.Time, t *task, o sched.Outcome, reason string, out *sched.Actions) {
	at := slices.Index(n.tasks, t)
	n.tasks = slices.Delete(n.tasks, at, at+1)
	n.beat.changed = true
	r := out.Send(t.distributor, sched.Report)
	r.Job, r.First, r.Attempt, r.Outcome, r.Reason = t.id.Job, t.id.Task, t.id.Attempt, o, reason
	i := out.Send(n.cfg.Master, sched.Idle)
	i.Job, i.First, i.Attempt, i.Seq = t.id.Job, t.id.Task, t.id.Attempt, n.received
	if !t.running {
		return
	}
	n.running--
	if next, starved := n.next(); next != nil {
		n.resume(now, next, starved, out)
	}
}

func (n *Node) act(kind sched.ActionKind, t *task, out *sched.Actions) {
	m := out.Do(kind)
	m.Job, m.First, m.Attempt, m.Distributor = t.id.Job, t.id.Task, t.id.Attempt, t.distributor
}

// Holds reports whether the attempt is at the node: it runs, is suspended, or waits for
// its first turn.
func (n *Node) Holds(id sched.AttemptID) bool { return n.find(id) != nil }
