package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// How often faults happen to daemons, and how long they last.
const (
	faultEvery  = 300 * sched.Millisecond // mean time between two faults
	downAtMost  = 4 * sched.Second        // a dead daemon
	pauseAtMost = 7 * sched.Second
	cutAtMost   = 8 * sched.Second // a partition
	failIn      = 8                // one task in this many fails
	maxTorn     = 3                // records before a frontend dies within a step, exclusive
	maxUnsynced = 6                // records that a frontend loses, exclusive
	maxKept     = 3                // messages of a link that outlive their sender, exclusive
)

// faultPlan makes the faults happen, each to a component.
type faultPlan struct {
	*cluster
	faults         *Faults
	draws          *draws
	net            *network
	check          *checker
	heartbeats     *heartbeats
	publisher      *publisher
	nodeShells     *nodeShells
	masterShells   *masterShells
	frontendShells *frontendShells

	random    *rand.Rand // draws the current fault
	planned   int        // number of the current fault
	happened  []int      // numbers of the faults that happened
	tornAfter int        // records after which a frontend crashes within its next step; -1: none does
}

// fault is something that can happen to a daemon, with its relative frequency.
type fault struct {
	kind   Kinds
	weight int
	happen func()
}

// start makes one fault happen after another. A fault depends on the seed and its
// own number alone, so that leaving one out does not change the others.
func (fp *faultPlan) start() {
	var deck []fault
	for _, f := range []fault{
		{CrashNode, 3, fp.crashNode}, {CrashMaster, 2, fp.crashMaster}, {CrashFrontend, 2, fp.crashFrontend}, {CrashFrontend, 2, fp.armCrashInStep},
		{Pause, 4, fp.pauseDaemon}, {Partition, 4, fp.partition}, {Suspect, 6, fp.suspect}, {Cancel, 2, fp.cancelJob},
		{Failover, 3, fp.failOver}, {Takeover, 3, fp.takeOver}, {LoseNode, 2, fp.loseMachine},
	} {
		deck = append(deck, slices.Repeat([]fault{f}, f.weight)...)
	}
	var next func()
	next = func() {
		if fp.now >= fp.faults.Until {
			fp.heal()
			return
		}
		fp.planned++
		fp.random = sched.Rand(fp.faults.Seed, planStream+uint64(fp.planned)) //nolint:gosec // a count
		f, wait := deck[fp.random.IntN(len(deck))], drawSpan(fp.random, 2*faultEvery)
		if fp.faults.Kinds.Has(f.kind) && (fp.faults.Only == nil || slices.Contains(fp.faults.Only, fp.planned)) {
			before := len(fp.happened)
			if f.happen(); len(fp.happened) > before {
				fp.draws.counts.add(f.kind)
			}
		}
		fp.callAt(fp.now+wait, next)
	}
	next()
}

// logf records that the current fault happens.
func (fp *faultPlan) logf(format string, args ...any) {
	fp.happened = append(fp.happened, fp.planned)
	fp.cluster.logf("#%-3d %s", fp.planned, fmt.Sprintf(format, args...))
}

// The streams of random numbers, by their use.
const (
	messageStream = 1
	planStream    = 1 << 20 // plus the number of the fault
	jobStream     = 1 << 40 // plus the line of the job
)

// heal ends the faults in progress. Daemons that are down start again when their time
// comes.
func (fp *faultPlan) heal() {
	fp.draws.healed = true
	fp.tornAfter = -1
	fp.net.heal()
	fp.cluster.logf("the faults are over")
}

// pick draws a daemon of a role.
func (fp *faultPlan) pick(r sched.Role) int {
	switch r {
	case sched.Distributor:
		return fp.random.IntN(len(fp.frontends))
	case sched.Master:
		return fp.random.IntN(len(fp.masters))
	default:
		return fp.random.IntN(len(fp.nodes))
	}
}

// pickAny draws a daemon of any role.
func (fp *faultPlan) pickAny() daemonID {
	r := [...]sched.Role{sched.Distributor, sched.Master, sched.Worker}[fp.random.IntN(3)]
	return daemonID{r, fp.pick(r)}
}

func (fp *faultPlan) crashNode() {
	i, down := fp.pick(sched.Worker), drawSpan(fp.random, downAtMost)
	if n := fp.nodes[i]; n.alive {
		fp.logf("%s dies and restarts after %s", n.daemonID, seconds(down))
		fp.nodeShells.kill(i, fp.random.IntN(maxKept))
		fp.callAt(fp.now+down, func() { fp.nodeShells.start(i) })
	}
}

func (fp *faultPlan) crashMaster() {
	g, down := fp.pick(sched.Master), drawSpan(fp.random, downAtMost+masterLost)
	if m := fp.masters[g]; m.alive {
		fp.logf("%s dies and restarts after %s", m.daemonID, seconds(down))
		fp.masterShells.kill(g, fp.random.IntN(maxKept))
		fp.callAt(fp.now+down, func() { fp.masterShells.start(g) })
	}
}

func (fp *faultPlan) crashFrontend() {
	i, down := fp.pick(sched.Distributor), drawSpan(fp.random, downAtMost)
	if f := fp.frontends[i]; f.alive {
		fp.logf("%s dies and restarts after %s", f.daemonID, seconds(down))
		fp.frontendShells.kill(i, fp.random.IntN(maxKept), fp.random.IntN(maxUnsynced))
		fp.callAt(fp.now+down, func() { fp.frontendShells.start(i) })
	}
}

// armCrashInStep makes a frontend die within one of its next steps.
func (fp *faultPlan) armCrashInStep() {
	fp.tornAfter = fp.random.IntN(maxTorn)
	fp.logf("the next frontend to write more than %d records in a step dies within that step", fp.tornAfter)
}

func (fp *faultPlan) pauseDaemon() {
	p, d := fp.process(fp.pickAny()), drawSpan(fp.random, pauseAtMost)
	if p.alive && p.resumes <= fp.now {
		fp.logf("%s is paused for %s", p.daemonID, seconds(d))
		p.resumes = fp.now + d
		if p.role == sched.Master && d > ownerLost {
			m := fp.masters[p.id]
			fp.callAt(p.resumes, func() { fp.masterShells.loseOwners(m, nil) })
		}
		if p.role == sched.Worker {
			fp.nodes[p.id].troubled(fp.now, p.resumes)
		}
	}
}

func (fp *faultPlan) partition() {
	a, b, d := fp.pickAny(), fp.pickAny(), drawSpan(fp.random, cutAtMost)
	if a == b {
		return
	}
	for _, id := range []daemonID{a, b} {
		if id.role == sched.Worker {
			fp.nodes[id.id].troubled(fp.now, fp.now+d)
		}
	}
	directions := "in both directions"
	fp.net.cut(route{a, b}, fp.now+d)
	if fp.random.IntN(2) == 0 {
		directions = "in this direction"
	} else {
		fp.net.cut(route{b, a}, fp.now+d)
	}
	fp.logf("%s cannot reach %s for %s, %s", a, b, seconds(d), directions)
	if m, f := fp.masterAndFrontend(a, b); m != nil && d > ownerLost {
		fp.callAt(fp.now+ownerLost, func() { fp.masterShells.loseOwners(m, f) })
	}
}

// masterAndFrontend returns the two daemons if one is a master and the other a frontend,
// else nil.
func (fp *faultPlan) masterAndFrontend(a, b daemonID) (m, f *daemon) {
	if a.role == sched.Distributor {
		a, b = b, a
	}
	if a.role != sched.Master || b.role != sched.Distributor {
		return nil, nil
	}
	return fp.masters[a.id], fp.frontends[b.id]
}

// suspect makes a daemon declare another one lost that may be alive.
func (fp *faultPlan) suspect() {
	f, n, g := fp.frontends[fp.pick(sched.Distributor)], fp.nodes[fp.pick(sched.Worker)], fp.pick(sched.Master)
	choice := fp.random.IntN(4)
	switch {
	case choice == 0:
		fp.logf("%s declares %s lost", fp.masters[n.group].daemonID, n.daemonID)
		fp.masterShells.loseNode(n.id)
	case fp.cfg.Policy.SingleMaster():
		fp.suspectPeer(choice, f, n)
	case choice == 1 && fp.cfg.Policy.CrossGroup:
		by := fp.masters[fp.pick(sched.Master)]
		fp.logf("%s declares master %d lost", by.daemonID, g)
		fp.heartbeats.loseMaster(by, g)
	default:
		fp.logf("%s declares master %d lost", f.daemonID, g)
		fp.heartbeats.loseMaster(f, g)
	}
}

func (fp *faultPlan) suspectPeer(choice int, f *daemon, n *node) {
	by := &f.process
	if fp.cfg.Policy.PeerAware && fp.random.IntN(2) == 0 {
		by = &fp.nodes[fp.pick(sched.Worker)].process
	}
	switch {
	case choice == 1 && f.alive && n.alive:
		fp.logf("%s declares %s lost and discovers it again", n.daemonID, f.daemonID)
		fp.nodeShells.suspectFrontend(n, f)
	case by != &n.process && by.alive:
		fp.logf("%s declares %s lost and discovers it again", by.daemonID, n.daemonID)
		fp.publisher.suspectNode(by, n)
	}
}

func (fp *faultPlan) cancelJob() {
	if len(fp.check.jobs) == 0 {
		return
	}
	if j := fp.check.jobs[fp.random.IntN(len(fp.check.jobs))]; j.ended == 0 {
		fp.logf("job %s is cancelled", j.id)
		fp.frontendShells.cancel(j)
	}
}

// crashInStep ends a frontend within its step: the first tornAfter records are in its
// journal, and none of its messages has been sent. It reports false if the step has too
// few records.
func (fp *faultPlan) crashInStep(f *daemon, out []sched.Action) bool {
	if fp.tornAfter < 0 || f.id < 0 {
		return false
	}
	records := 0
	for i := range out {
		if out[i].Kind == sched.Persist {
			records++
		}
	}
	if records <= fp.tornAfter {
		return false
	}
	for i := range out {
		if out[i].Kind == sched.Persist && fp.tornAfter > 0 {
			fp.tornAfter--
			fp.frontendShells.persistRecord(f.host.addr, &out[i].Msg)
		}
	}
	fp.tornAfter = -1
	fp.frontendShells.kill(f.id, 0, 0)
	fp.cluster.logf("%s dies within a step, between two records", f.daemonID)
	fp.callAt(fp.now+drawSpan(fp.random, downAtMost), func() { fp.frontendShells.start(f.id) })
	return true
}
