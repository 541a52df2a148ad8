package sim

import (
	"fmt"
	"slices"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// How often faults happen to daemons, and for how long.
const (
	faultEvery  = 300 * sched.Millisecond // mean time between two faults
	downAtMost  = 4 * sched.Second        // a dead daemon
	pauseAtMost = 7 * sched.Second
	cutAtMost   = 8 * sched.Second // a partition
	failIn      = 8                // one task in so many fails
	maxTorn     = 3                // records before a frontend dies within a step, exclusive
	maxUnsynced = 6                // records that a frontend loses, exclusive
	maxKept     = 3                // messages of a link that outlive their sender, exclusive
)

// logf writes a line to the log of faults.
func (w *world) logf(format string, args ...any) {
	if w.faults.Log != nil {
		fmt.Fprintf(w.faults.Log, "%10s  %s\n", seconds(w.now), fmt.Sprintf(format, args...))
	}
}

// fault is something that can happen to a daemon, with its relative frequency.
type fault struct {
	kind   Kinds
	weight int
	happen func()
}

// planFaults makes one fault happen after another. A fault depends on the seed and its
// own number alone, so that leaving one out does not change the others.
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

// logFaultf records that the current fault happens.
func (w *world) logFaultf(format string, args ...any) {
	w.happened = append(w.happened, w.planned)
	w.logf("#%-3d %s", w.planned, fmt.Sprintf(format, args...))
}

// The streams of random numbers, by their use.
const (
	messageStream = 1
	planStream    = 1 << 20 // plus the number of the fault
	jobStream     = 1 << 40 // plus the line of the job
)

// heal ends the faults in progress. Daemons that are down start again when their time
// comes.
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
		w.logFaultf("%s dies and restarts after %s", n.daemonID, seconds(down))
		w.killNode(i, w.plan.IntN(maxKept))
		w.callAt(w.now+down, func() { w.startNode(i) })
	}
}

func (w *world) crashMaster() {
	g, down := w.pick(sched.Master), drawSpan(w.plan, downAtMost+masterLost)
	if m := w.masters[g]; m.alive {
		w.logFaultf("%s dies and restarts after %s", m.daemonID, seconds(down))
		w.killMaster(g, w.plan.IntN(maxKept))
		w.callAt(w.now+down, func() { w.startMaster(g) })
	}
}

func (w *world) crashFrontend() {
	i, down := w.pick(sched.Distributor), drawSpan(w.plan, downAtMost)
	if f := w.frontends[i]; f.alive {
		w.logFaultf("%s dies and restarts after %s", f.daemonID, seconds(down))
		w.killFrontend(i, w.plan.IntN(maxKept), w.plan.IntN(maxUnsynced))
		w.callAt(w.now+down, func() { w.startFrontend(i) })
	}
}

// armCrashInStep makes a frontend die within one of its next steps.
func (w *world) armCrashInStep() {
	w.tornAfter = w.plan.IntN(maxTorn)
	w.logFaultf("the next frontend to write more than %d records in a step dies within that step", w.tornAfter)
}

func (w *world) pauseDaemon() {
	p, d := w.process(w.pickAny()), drawSpan(w.plan, pauseAtMost)
	if p.alive && p.resumes <= w.now {
		w.logFaultf("%s is paused for %s", p.daemonID, seconds(d))
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

// suspect makes a daemon declare another one lost that may be alive.
func (w *world) suspect() {
	f, n, g := w.frontends[w.pick(sched.Distributor)], w.nodes[w.pick(sched.Worker)], w.pick(sched.Master)
	choice := w.plan.IntN(4)
	switch {
	case choice == 0:
		w.logFaultf("%s declares %s lost", w.masters[n.group].daemonID, n.daemonID)
		w.loseNode(n.id)
	case w.cfg.Policy.SingleMaster():
		w.suspectPeer(choice, f, n)
	case choice == 1 && w.cfg.Policy.CrossGroup:
		by := w.masters[w.pick(sched.Master)]
		w.logFaultf("%s declares master %d lost", by.daemonID, g)
		w.loseMaster(by, g)
	default:
		w.logFaultf("%s declares master %d lost", f.daemonID, g)
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
		w.logFaultf("%s declares %s lost and discovers it again", n.daemonID, f.daemonID)
		w.suspectFrontend(n, f)
	case by != &n.process && by.alive:
		w.logFaultf("%s declares %s lost and discovers it again", by.daemonID, n.daemonID)
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
