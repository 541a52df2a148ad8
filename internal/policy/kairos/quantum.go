package kairos

import "github.com/pigeon-sched/pigeon/internal/sched"

// favoredQuanta is how long the run of a task that starved is.
const favoredQuanta = 2

// makeRoom suspends, when no core is free, the running task with the most attained
// service, of several the one that came first; a task in an uninterrupted run is
// not suspended, and the new task waits its turn.
func (n *Node) makeRoom(now sched.Time, out *sched.Actions) {
	if n.running < n.o.Cores {
		return
	}
	var victim *task
	for _, t := range n.tasks {
		if t.running && !t.favored && (victim == nil || t.attained(now) > victim.attained(now)) {
			victim = t
		}
	}
	if victim != nil {
		n.suspend(now, victim, out)
	}
}

// next returns the waiting task for a free core: one that starves, the most
// passed over first, else the one with the least attained service, of several the
// one that came first.
func (n *Node) next() (t *task, starved bool) {
	for _, o := range n.tasks {
		if o.running {
			continue
		}
		starves := o.passed > n.o.Passes*n.o.Cores
		switch {
		case t == nil || starves && !starved:
			t, starved = o, starves
		case starved && o.passed > t.passed, !starved && o.service < t.service:
			t = o
		}
	}
	return t, starved
}

// quantumDue ends a quantum: the running task is replaced by one that starves, or
// to one that has attained no more than itself. Else its quantum is renewed, and
// all that wait are passed over. A quantum of the only core is not renewed while no task waits:
// the next task that comes suspends the running one, wherever that is in its quantum.
func (n *Node) quantumDue(now sched.Time, token uint64, out *sched.Actions) {
	t := n.ofQuantum(token)
	if t == nil {
		return // it ended, or was suspended
	}
	t.favored = false
	next, starved := n.next()
	if next != nil && (starved || next.service <= t.attained(now)) {
		n.suspend(now, t, out)
		n.resume(now, next, starved, out)
		return
	}
	if next == nil && n.o.Cores == 1 {
		return
	}
	for _, o := range n.tasks {
		if !o.running {
			o.passed++
		}
	}
	n.begin(now, t, n.o.Quantum, out)
}

func (n *Node) ofQuantum(token uint64) *task {
	for _, t := range n.tasks {
		if t.running && t.quantum == token {
			return t
		}
	}
	return nil
}

func (n *Node) suspend(now sched.Time, t *task, out *sched.Actions) {
	t.service = t.attained(now)
	t.running, t.favored = false, false
	n.running--
	n.act(sched.Suspend, t, out)
}

// resume lets a waiting task run; one that starved for two quanta without
// interruption.
func (n *Node) resume(now sched.Time, t *task, starved bool, out *sched.Actions) {
	length := n.o.Quantum
	if starved {
		t.favored = true
		length *= favoredQuanta
	}
	n.run(now, t, length, out)
}

// run starts or continues a task on a free core.
func (n *Node) run(now sched.Time, t *task, length sched.Time, out *sched.Actions) {
	kind := sched.Resume
	if !t.started {
		kind = sched.Start
	}
	t.started, t.running, t.since, t.passed = true, true, now, 0
	n.running++
	n.act(kind, t, out)
	n.begin(now, t, length, out)
}

// begin starts a quantum.
func (n *Node) begin(now sched.Time, t *task, length sched.Time, out *sched.Actions) {
	n.token++
	t.quantum = n.token
	out.Timer(now+length, n.token)
}
