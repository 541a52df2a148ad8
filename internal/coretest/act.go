package coretest

import (
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// step steps a distributor or master and carries out what it decided.
func (c *Cluster) step(d *daemon, from sched.Addr, m *sched.Message) {
	if c.err != nil {
		return
	}
	out := c.take(d.core, d.place, from, m)
	if d.role == sched.Master && c.cfg.Observe != nil {
		if err := c.cfg.Observe(d.core.core, m, out); err != nil {
			c.failf("%s, at %s: %w", d.place, sched.Describe(m), err)
		}
	}
	if d.role == sched.Distributor && c.crashAfter >= 0 && c.crash(d, out) {
		return
	}
	for i := range out {
		c.act(d, &out[i])
	}
}

// crash ends a distributor inside its step: the first records are in its journal,
// nothing has left it. It does not come to that when the step has fewer.
func (c *Cluster) crash(d *daemon, out []sched.Action) bool {
	records := 0
	for i := range out {
		if out[i].Kind == sched.Persist {
			records++
		}
	}
	if records <= c.crashAfter {
		return false
	}
	for i := range out {
		if out[i].Kind == sched.Persist && c.crashAfter > 0 {
			c.crashAfter--
			c.persist(d, &out[i].Msg)
		}
	}
	c.crashAfter = -1
	c.KillDistributor(d.id, 0, 0)
	return true
}

func (c *Cluster) act(d *daemon, a *sched.Action) {
	switch a.Kind {
	case sched.Send:
		c.send(d, a)
	case sched.Timer:
		c.num++
		c.timers = append(c.timers, timer{at: a.At, num: c.num, of: d, incarnation: d.incarnation, token: a.Token})
	case sched.Persist:
		c.persist(d, &a.Msg)
	case sched.Forget:
		delete(d.cargo, a.Msg.Job)
	default:
		c.failf("%s cannot carry out %s", d.place, sched.DescribeAction(a))
	}
}

// send passes on what a distributor or a master sends.
func (c *Cluster) send(d *daemon, a *sched.Action) {
	switch {
	case a.To.Role == sched.Worker:
		c.sendWorker(d, a)
	case a.To.ID == sched.Everyone:
		if a.Msg.Kind == sched.Serves {
			d.serves = a.Msg.Serves
		}
		for _, to := range c.distributors {
			c.post(c.enclose(d.place, to.place, &a.Msg))
		}
	default:
		c.post(c.enclose(d.place, place{a.To.Role, int(a.To.ID)}, &a.Msg))
	}
}

func (c *Cluster) sendWorker(d *daemon, a *sched.Action) {
	w := &d.members[a.To.ID]
	switch a.Msg.Kind {
	case sched.SetReserved:
		w.reserved = a.Msg.Reserved
	case sched.Launch, sched.Preempt:
		if w.gone || (w.reserved && a.Msg.Class == sched.Long) {
			c.failf("%s launches at a worker that is gone, or a long task at a reserved one: %s", d.place, sched.DescribeAction(a))
		}
		if !d.cargo[a.Msg.Job] {
			c.failf("%s launches a task of a job it said to forget: %s", d.place, sched.DescribeAction(a))
		}
	}
	to := c.nodes[w.node]
	if inc, alive := c.incarnation(to.place); !alive || inc != w.incarnation {
		return
	}
	e := c.enclose(d.place, to.place, &a.Msg)
	e.owner = w.slot
	c.post(e)
}

// stepSlot steps a worker and carries out what it decided.
func (c *Cluster) stepSlot(n *node, k int, from sched.Addr, m *sched.Message) {
	if c.err != nil {
		return
	}
	s := n.slots[k]
	if m.Kind == sched.Yield && !c.byID[m.Job].marks.Has(sched.Restartable) {
		c.failf("%s is to start anew what cannot be: %s", n.place, sched.Describe(m))
	}
	out := c.take(s.core, n.place, from, m)
	if id := m.AttemptID(); (m.Kind == sched.Launch || m.Kind == sched.Preempt) && s.worker.Holds(id) {
		s.accepted[id] = *m
	}
	for i := range out {
		switch a := &out[i]; a.Kind {
		case sched.Start:
			if s.running != nil {
				c.failf("%s starts %s in a slot that runs %s", n.place, a.Msg.AttemptID(), s.running.AttemptID())
			}
			started := a.Msg
			s.running = &started
		case sched.Stop:
			c.stop(n, k, &a.Msg)
		case sched.Suspend, sched.Resume:
			c.hold(n, k, a)
		case sched.Send:
			c.sendFrom(n, k, a)
		default:
			c.failf("%s cannot carry out %s", n.place, sched.DescribeAction(a))
		}
	}
}

// is reports whether a started attempt is that of the message.
func is(started, m *sched.Message) bool {
	return started != nil && started.AttemptID() == m.AttemptID()
}

// stop kills what a slot runs or has suspended; its end is told in its own time.
func (c *Cluster) stop(n *node, k int, m *sched.Message) {
	s := n.slots[k]
	switch {
	case is(s.running, m):
		s.running = nil
	case is(s.suspended, m):
		s.suspended = nil
	default:
		return
	}
	e := c.enclose(n.place, n.place, &sched.Message{Kind: sched.Ended, Job: m.Job, First: m.First, Attempt: m.Attempt, Outcome: sched.Killed})
	e.owner = k
	c.post(e)
}

// hold suspends what a slot runs, or goes on with what it has suspended. What was
// stopped is only waiting to be told of.
func (c *Cluster) hold(n *node, k int, a *sched.Action) {
	s := n.slots[k]
	from, to := &s.running, &s.suspended
	if a.Kind == sched.Resume {
		from, to = to, from
	}
	if !is(*from, &a.Msg) {
		return
	}
	if *to != nil || !c.byID[a.Msg.Job].marks.Has(sched.Stoppable) {
		c.failf("%s cannot carry out %s", n.place, sched.DescribeAction(a))
	}
	*from, *to = nil, *from
	c.switches++
}

// sendFrom passes on what a slot sends: Idle and Report as notices, a report being
// kept until it is acknowledged.
func (c *Cluster) sendFrom(n *node, k int, a *sched.Action) {
	to := place{a.To.Role, int(a.To.ID)}
	e := c.enclose(n.place, to, &a.Msg)
	e.fromSlot = k
	switch a.Msg.Kind {
	case sched.Report:
		kept := a.Msg
		kept.Owner = a.To
		n.slots[k].kept = append(n.slots[k].kept, kept)
		c.notices = append(c.notices, e)
	case sched.Idle:
		c.notices = append(c.notices, e)
	default:
		c.post(e)
	}
}
