package sim

import (
	"slices"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// maxDeliveries bounds the deliveries of one command.
const maxDeliveries = 20_000

// deliverAll delivers all messages in flight, and those that they cause, in the order in
// which they were sent.
func (w *world) deliverAll() {
	for range maxDeliveries {
		if w.check.err != nil {
			return
		}
		first := 0 // of the notices, which are in order
		var head *link
		for _, l := range w.net.links {
			if len(l.queue) > 0 && (head == nil || l.queue[0].num < head.queue[0].num) {
				head = l
			}
		}
		switch {
		case head != nil && (len(w.net.notices) == 0 || head.queue[0].num < w.net.notices[first].num):
			w.net.deliverHead(head)
		case len(w.net.notices) > 0:
			e := w.net.notices[first]
			w.net.notices = w.net.notices[1:]
			w.net.receive(e)
		default:
			return
		}
	}
	w.check.mustf(checkRest, false, "more messages are in flight after %d deliveries", maxDeliveries)
}

// advance moves time forward and fires the timers that are due, in order.
func (w *world) advance(by sched.Time) {
	until := w.now + by
	for w.check.err == nil && len(w.alarms) > 0 && w.alarms[0].at <= until {
		w.step()
	}
	w.now = until
}

func (w *world) sendSnapshots() {
	for _, n := range w.nodes {
		w.nodeShells.sendSnapshot(n)
	}
}

// maxRounds bounds the rounds until the cluster is at rest. A round lasts a second,
// delivers all messages, and ends all running tasks.
const maxRounds = 2000

// rest starts the daemons that are down, waits until the cluster is at rest, and runs the
// final checks.
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
	w.check.atEnd(w.cluster)
	w.history.replay(w.check)
}

func (w *world) startAll() {
	for i, n := range w.nodes {
		if !n.alive {
			w.nodeShells.start(i)
		}
	}
	for g, m := range w.masters {
		if !m.alive {
			w.masterShells.start(g)
		}
	}
	for i, f := range w.frontends {
		if !f.alive {
			w.frontendShells.start(i)
		}
	}
	for _, d := range slices.Concat(w.frontends, w.masters) {
		for g, m := range w.masters {
			if d.lost[g] {
				w.heartbeats.announceMaster(m, d)
			}
		}
	}
}

// endAll ends all running tasks. It reports whether there were any.
func (w *world) endAll() (some bool) {
	for _, n := range w.nodes {
		for _, x := range n.workers {
			some = w.endRunning(x, sched.Done) || some
		}
	}
	return some
}

// atRest reports whether all jobs have ended, no message is in flight, and no timer is
// set.
func (w *world) atRest() bool {
	for _, j := range w.check.jobs {
		if j.ended == 0 {
			return false
		}
	}
	return len(w.net.notices) == 0 && w.net.idle() &&
		!slices.ContainsFunc(w.alarms, func(a alarm) bool { return a.run == isTimer })
}

// endRunning ends a worker's running task. It reports whether there was one.
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
