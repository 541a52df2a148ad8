package sim

import (
	"fmt"
	"maps"
	"slices"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// How long it takes until a standby acts in the place of a master or a frontend, and how a
// machine is replaced.
const (
	crashSeen     = 300 * sched.Millisecond // a standby leads after a crash, at the earliest
	crashLeads    = sched.Second            // and at the latest
	lapses        = 1500 * sched.Millisecond
	lapseLeads    = 2500 * sched.Millisecond // it leads after a hang or a partition, at the latest
	wakesWithin   = 6 * sched.Second         // a former leader that hangs
	overlapAtMost = 3 * sched.Second         // for this long two clocks that drift let two processes lead
	replacedAfter = 5 * sched.Second         // a machine that never returns
)

// end is how a leader ends.
type end int

// The ends of a leader.
const (
	crashes   end = iota // its machine never returns
	hangs                // it is paused, and continues when another one leads
	isCut                // it cannot renew its leadership, with some nodes on its side
	endsCount            // how many there are
)

// drawEnd draws how a leader ends and when a standby leads.
func (fp *faultPlan) drawEnd() (how end, leads sched.Time) {
	how = end(fp.random.IntN(int(endsCount)))
	if how == crashes {
		return how, crashSeen + drawSpan(fp.random, crashLeads-crashSeen)
	}
	return how, lapses + drawSpan(fp.random, lapseLeads-lapses)
}

// drawOverlap draws how long a former leader takes itself for the leader after another
// one leads: no time if clocks are right.
func (fp *faultPlan) drawOverlap() sched.Time {
	if !fp.faults.Kinds.Has(Drift) || fp.random.IntN(2) == 0 {
		return 0
	}
	return drawSpan(fp.random, overlapAtMost)
}

// failOver ends the leadership of a master; a standby, which is another process on another
// machine, leads its group.
func (fp *faultPlan) failOver() {
	g := fp.pick(sched.Master)
	how, leads := fp.drawEnd()
	overlap, keep, half := fp.drawOverlap(), fp.random.IntN(maxKept), fp.random.Uint64()
	m := fp.masters[g]
	if !m.alive || m.resumes > fp.now {
		return
	}
	fp.logf("%s %s, and a standby leads after %s%s", m.daemonID, how, seconds(leads), overlapping(how, overlap))
	switch how {
	case crashes:
		fp.masterShells.kill(g, keep)
		fp.callAt(fp.now+leads, func() { fp.masterShells.start(g) })
		return
	case hangs:
		m.resumes = fp.now + leads + drawSpan(fp.random, wakesWithin)
	case isCut:
		for i, f := range fp.frontends {
			if half>>(i%32)&1 == 0 {
				fp.net.cut(route{m.daemonID, f.daemonID}, fp.now+leads+overlap)
				fp.net.cut(route{f.daemonID, m.daemonID}, fp.now+leads+overlap)
			}
		}
	}
	fp.callAt(fp.now+leads, func() {
		if fp.masters[g] != m || !m.alive { // another fault was first
			return
		}
		fp.masterShells.follow(g, func(n *node) bool { return how == isCut && overlap > 0 && half>>(32+n.id%32)&1 == 0 })
		fp.callAt(max(fp.now, m.resumes)+overlap, func() { fp.masterShells.retire(m, keep) })
	})
}

// takeOver ends a frontend; a standby continues its jobs at another address, from the
// replicated journal.
func (fp *faultPlan) takeOver() {
	i := fp.pick(sched.Distributor)
	how, leads := fp.drawEnd()
	overlap, keep, written := fp.drawOverlap(), fp.random.IntN(maxKept), fp.random.IntN(maxUnsynced)
	f := fp.frontends[i]
	if !f.alive || f.resumes > fp.now {
		return
	}
	fp.logf("%s %s, and a standby takes it over after %s%s", f.daemonID, how, seconds(leads), overlapping(how, overlap))
	switch how {
	case crashes:
		fp.frontendShells.kill(i, keep, written)
		fp.callAt(fp.now+leads, func() { fp.frontendShells.start(i) })
		return
	case hangs:
		f.resumes = fp.now + leads + drawSpan(fp.random, wakesWithin)
	}
	fp.callAt(fp.now+leads, func() {
		if fp.frontends[i] != f || !f.alive {
			return
		}
		fp.frontendShells.follow(i, written)
		fp.callAt(max(fp.now, f.resumes)+overlap, func() { fp.frontendShells.retire(f, keep) })
	})
}

// loseMachine ends a node for good; later another machine takes its place.
func (fp *faultPlan) loseMachine() {
	n, keep := fp.nodes[fp.pick(sched.Worker)], fp.random.IntN(maxKept)
	after := replacedAfter + drawSpan(fp.random, 2*replacedAfter)
	if !n.alive {
		return
	}
	fp.logf("%s never returns; another machine takes its place after %s", n.daemonID, seconds(after))
	fp.nodeShells.kill(n.id, keep)
	n.gone = true
	fp.callAt(fp.now+after, func() { fp.nodeShells.start(fp.addNode(n.group, n.spec).id) })
}

func (e end) String() string {
	return [...]string{"dies for good", "hangs", "cannot renew its leadership"}[e]
}

func overlapping(how end, overlap sched.Time) string {
	if how == crashes || overlap == 0 {
		return ""
	}
	return fmt.Sprintf("; it takes itself for the leader for %s more", seconds(overlap))
}

// succeed replaces a process that still runs by a new one; the former one gets its own
// number.
func (c *cluster) succeed(list []*daemon, i int, net *network) (former, next *daemon) {
	former = list[i]
	was := former.daemonID
	next = &daemon{name: i, process: process{daemonID: was, life: former.life}, epoch: former.epoch, lost: maps.Clone(former.lost)}
	c.formers = append(c.formers, former)
	former.daemonID.id = -len(c.formers)
	list[i] = next
	net.rename(was, former.daemonID)
	return former, next
}

// rename gives the messages in transit to and from a daemon to the former one, which
// keeps its connections.
func (n *network) rename(was, now daemonID) {
	change := func(p *daemonID) bool {
		if *p == was {
			*p = now
			return true
		}
		return false
	}
	for _, l := range n.links {
		before := l.route
		if !change(&l.from) && !change(&l.to) {
			continue
		}
		delete(n.byRoute, before)
		n.byRoute[l.route] = l
		for _, e := range slices.Concat(l.queue, l.last) {
			e.route = l.route
		}
		if until, cut := n.cuts[before]; cut {
			delete(n.cuts, before)
			n.cuts[l.route] = until
		}
	}
}

// follow makes a standby lead a group whose master still runs. Nodes on the former's side
// stay with it.
func (sh *masterShells) follow(g int, stays func(*node) bool) {
	former, _ := sh.succeed(sh.masters, g, sh.net)
	for _, n := range sh.nodes {
		if n.group == g && n.alive && stays(n) && !sh.cfg.Policy.SingleMaster() {
			n.leader = former.daemonID
			n.troubled(sh.now, sh.now)
		}
	}
	sh.start(g)
}

// retire ends a former master that has noticed that it does not lead. Its nodes say hello
// to the one that does.
func (sh *masterShells) retire(m *daemon, keep int) {
	if !m.alive {
		return
	}
	sh.logf("%s stops", m.daemonID)
	m.alive = false
	sh.net.dropTraffic(m.daemonID, keep)
	for _, n := range sh.nodes {
		if n.leader != m.daemonID {
			continue
		}
		n.leader = daemonID{sched.Master, n.group}
		n.troubled(sh.now, sh.now)
		if n.alive {
			sh.whenResumed(&n.process, func() { sh.nodeShells.hello(n) })
		}
	}
}

// follow makes a standby continue the jobs of a frontend that still runs, from the journal:
// some of the records that may or may not have been written are in it.
func (sh *frontendShells) follow(i, written int) {
	former, next := sh.succeed(sh.frontends, i, sh.net)
	next.journal = former.journal.takeOver(&next.process, written)
	next.journal.refused = func() { sh.retire(next, 0) }
	sh.check.recount(next)
	sh.start(i)
}

// retire ends a former frontend that has found that another one has its name.
func (sh *frontendShells) retire(f *daemon, keep int) {
	if !f.alive {
		return
	}
	sh.logf("%s stops", f.daemonID)
	f.alive = false
	sh.net.dropTraffic(f.daemonID, keep)
}
