package sim

import (
	"fmt"
	"slices"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// What happens to daemons, and for how long.
const (
	faultEvery  = 300 * sched.Millisecond // one fault, up to twice this apart
	downAtMost  = 4 * sched.Second        // a dead daemon
	pauseAtMost = 7 * sched.Second
	cutAtMost   = 8 * sched.Second // a partition
	failIn      = 8                // one task in so many fails by itself
	maxTorn     = 3                // records before a frontend dies within a step
	maxUnsynced = 6                // records that a frontend loses
	maxKept     = 3                // messages of a link that outlive their sender
)

// logf writes a line about something that happened.
func (w *world) logf(format string, args ...any) {
	if w.faults.Log != nil {
		fmt.Fprintf(w.faults.Log, "%10s  %s\n", seconds(w.now), fmt.Sprintf(format, args...))
	}
}

// fault is something that can happen to daemons, and how often in proportion.
type fault struct {
	kind   Kinds
	weight int
	happen func()
}

// planFaults has one fault happen after another. What a fault is depends on the seed and
// its number alone, so that the others stay what they are where one is left out.
func (w *world) planFaults() {
	var deck []fault
	for _, f := range []fault{
		{CrashNode, 3, w.crashNode}, {CrashMaster, 2, w.crashMaster}, {CrashFrontend, 2, w.crashFrontend}, {CrashFrontend, 2, w.armCrashInStep},
		{Pause, 4, w.pauseDaemon}, {Partition, 4, w.partition}, {Suspect, 6, w.suspect}, {Cancel, 2, w.cancelJob},
	} {
		deck = append(deck, slices.Repeat([]fault{f}, f.weight)...)
	}
	var next func()
	next = func() {
		if w.now >= w.faults.Until {
			w.heal()
			return
		}
		w.planned++
		w.plan = sched.Rand(w.faults.Seed, planStream+uint64(w.planned)) //nolint:gosec // a count
		f, wait := deck[w.plan.IntN(len(deck))], drawSpan(w.plan, 2*faultEvery)
		if w.faults.Kinds.Has(f.kind) && (w.faults.Only == nil || slices.Contains(w.faults.Only, w.planned)) {
			f.happen()
		}
		w.callAt(w.now+wait, next)
	}
	next()
}

// logFaultf notes that the fault whose turn it is happens.
func (w *world) logFaultf(format string, args ...any) {
	w.happened = append(w.happened, w.planned)
	w.logf("#%-3d %s", w.planned, fmt.Sprintf(format, args...))
}

// The streams of random numbers, by what is drawn from them.
const (
	messageStream = 1
	planStream    = 1 << 20 // and the number of the fault
	jobStream     = 1 << 40 // and the line of the job
)

// heal ends what still goes on; what is dead comes back in its time.
func (w *world) heal() {
	w.healed = true
	w.tornAfter = -1
	clear(w.cuts)
	w.logf("the faults are over")
}

// pick draws a daemon of a role.
func (w *world) pick(r sched.Role) int {
	switch r {
	case sched.Distributor:
		return w.plan.IntN(len(w.frontends))
	case sched.Master:
		return w.plan.IntN(len(w.masters))
	default:
		return w.plan.IntN(len(w.nodes))
	}
}

// pickAny draws a daemon of any role.
func (w *world) pickAny() daemonID {
	r := [...]sched.Role{sched.Distributor, sched.Master, sched.Worker}[w.plan.IntN(3)]
	return daemonID{r, w.pick(r)}
}

func (w *world) crashNode() {
	i, down := w.pick(sched.Worker), drawSpan(w.plan, downAtMost)
	if n := w.nodes[i]; n.alive {
		w.logFaultf("%s dies, and comes back after %s", n.daemonID, seconds(down))
		w.killNode(i, w.plan.IntN(maxKept))
		w.callAt(w.now+down, func() { w.startNode(i) })
	}
}

func (w *world) crashMaster() {
	g, down := w.pick(sched.Master), drawSpan(w.plan, downAtMost+masterLost)
	if m := w.masters[g]; m.alive {
		w.logFaultf("%s dies, and comes back after %s", m.daemonID, seconds(down))
		w.killMaster(g, w.plan.IntN(maxKept))
		w.callAt(w.now+down, func() { w.startMaster(g) })
	}
}

func (w *world) crashFrontend() {
	i, down := w.pick(sched.Distributor), drawSpan(w.plan, downAtMost)
	if f := w.frontends[i]; f.alive {
		w.logFaultf("%s dies, and comes back after %s", f.daemonID, seconds(down))
		w.killFrontend(i, w.plan.IntN(maxKept), w.plan.IntN(maxUnsynced))
		w.callAt(w.now+down, func() { w.startFrontend(i) })
	}
}

// armCrashInStep has a frontend die within a step.
func (w *world) armCrashInStep() {
	w.tornAfter = w.plan.IntN(maxTorn)
	w.logFaultf("a frontend is to die within a step, after %d records", w.tornAfter)
}

func (w *world) pauseDaemon() {
	p, d := w.process(w.pickAny()), drawSpan(w.plan, pauseAtMost)
	if p.alive && p.resumes <= w.now {
		w.logFaultf("%s stands still for %s", p.daemonID, seconds(d))
		p.resumes = w.now + d
	}
}

func (w *world) partition() {
	a, b, d := w.pickAny(), w.pickAny(), drawSpan(w.plan, cutAtMost)
	if a == b {
		return
	}
	directions := "in both directions"
	w.cuts[route{a, b}] = w.now + d
	if w.plan.IntN(2) == 0 {
		directions = "in this direction"
	} else {
		w.cuts[route{b, a}] = w.now + d
	}
	w.logFaultf("%s cannot reach %s for %s, %s", a, b, seconds(d), directions)
}

// suspect has a daemon take another one for lost that may live.
func (w *world) suspect() {
	f, n, g := w.frontends[w.pick(sched.Distributor)], w.nodes[w.pick(sched.Worker)], w.pick(sched.Master)
	choice := w.plan.IntN(4)
	switch {
	case choice == 0:
		w.logFaultf("%s takes %s for lost", w.masters[n.group].daemonID, n.daemonID)
		w.loseNode(n.id)
	case w.cfg.Policy.SingleMaster():
		w.suspectPeer(choice, f, n)
	case choice == 1 && w.cfg.Policy.CrossGroup:
		by := w.masters[w.pick(sched.Master)]
		w.logFaultf("%s takes master %d for lost", by.daemonID, g)
		w.loseMaster(by, g)
	default:
		w.logFaultf("%s takes master %d for lost", f.daemonID, g)
		w.loseMaster(f, g)
	}
}

func (w *world) suspectPeer(choice int, f *daemon, n *node) {
	by := &f.process
	if w.cfg.Policy.PeerAware && w.plan.IntN(2) == 0 {
		by = &w.nodes[w.pick(sched.Worker)].process
	}
	switch {
	case choice == 1 && f.alive && n.alive:
		w.logFaultf("%s takes %s for lost, and meets it again", n.daemonID, f.daemonID)
		w.suspectFrontend(n, f)
	case by != &n.process && by.alive:
		w.logFaultf("%s takes %s for lost, and meets it again", by.daemonID, n.daemonID)
		w.suspectNode(by, n)
	}
}

func (w *world) cancelJob() {
	if len(w.check.jobs) == 0 {
		return
	}
	if j := w.check.jobs[w.plan.IntN(len(w.check.jobs))]; j.ended == 0 {
		w.logFaultf("job %s is cancelled", j.id)
		w.cancel(j)
	}
}
