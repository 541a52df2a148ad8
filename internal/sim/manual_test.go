package sim

import (
	"slices"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// What a script does with a world in which nothing happens by itself.

// maxDeliveries bounds what one command can lead to.
const maxDeliveries = 20_000

// deliverAll delivers everything that is on its way, and what that leads to, in the order
// in which it was sent.
func (w *world) deliverAll() {
	for range maxDeliveries {
		if w.check.err != nil {
			return
		}
		first := 0 // of the notices, which are in order
		var head *link
		for _, l := range w.links {
			if len(l.queue) > 0 && (head == nil || l.queue[0].num < head.queue[0].num) {
				head = l
			}
		}
		switch {
		case head != nil && (len(w.notices) == 0 || head.queue[0].num < w.notices[first].num):
			w.deliverHead(head)
		case len(w.notices) > 0:
			e := w.notices[first]
			w.notices = w.notices[1:]
			w.receive(e)
		default:
			return
		}
	}
	w.check.mustf(checkRest, false, "%d messages, and there is no end", maxDeliveries)
}

// advance lets time pass: timers that are due fire, in order.
func (w *world) advance(by sched.Time) {
	until := w.now + by
	for w.check.err == nil && len(w.alarms) > 0 && w.alarms[0].at <= until {
		w.step()
	}
	w.now = until
}

func (w *world) sendSnapshots() {
	for _, n := range w.nodes {
		w.sendSnapshot(n)
	}
}

// maxRounds bounds the healing of a cluster. A round lasts a second, delivers all, and
// ends all that runs.
const maxRounds = 2000

// rest starts what is dead, loses nothing more, and waits until the cluster has nothing
// to do. Then everything that must hold at the end is checked.
func (w *world) rest() {
	for range maxRounds {
		w.startAll()
		w.deliverAll()
		w.sendSnapshots()
		w.deliverAll()
		w.advance(sched.Second)
		w.deliverAll()
		if w.check.err != nil || (!w.endAll() && w.atRest()) {
			break
		}
	}
	w.checkEnd()
	w.replay()
}

func (w *world) startAll() {
	for i, n := range w.nodes {
		if !n.alive {
			w.startNode(i)
		}
	}
	for g, m := range w.masters {
		if !m.alive {
			w.startMaster(g)
		}
	}
	for i, f := range w.frontends {
		if !f.alive {
			w.startFrontend(i)
		}
	}
	for _, d := range slices.Concat(w.frontends, w.masters) {
		for g, m := range w.masters {
			if d.lost[g] {
				w.announceMaster(m, d)
			}
		}
	}
}

// endAll ends everything that runs; false when nothing did.
func (w *world) endAll() (some bool) {
	for _, n := range w.nodes {
		for _, x := range n.workers {
			some = w.endRunning(x, sched.Done) || some
		}
	}
	return some
}

// atRest reports whether all jobs have ended, and nothing is on its way or waits for a
// timer.
func (w *world) atRest() bool {
	for _, j := range w.check.jobs {
		if j.ended == 0 {
			return false
		}
	}
	return len(w.notices) == 0 && !slices.ContainsFunc(w.links, func(l *link) bool { return len(l.queue) > 0 }) &&
		!slices.ContainsFunc(w.alarms, func(a alarm) bool { return a.run == isTimer })
}

// endRunning ends what a worker runs; false when it runs nothing.
func (w *world) endRunning(x *worker, o sched.Outcome) bool {
	if !x.node.alive {
		return false
	}
	for _, i := range w.runs.byWorker[x.host.addr.ID] {
		if r := &w.runs.slab[i]; r.running {
			w.halt(r)
			w.finish(i, o)
			return true
		}
	}
	return false
}
