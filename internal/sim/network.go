package sim

import (
	"slices"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// A link carries messages from one daemon to another in order and retransmits them until
// they arrive, so a loss shows as a delay; a batch may arrive twice in a row. Idle, Report
// and snapshots are notices: each travels alone and may be lost, be repeated, or overtake
// others.

// route names a link by its two daemons.
type route struct{ from, to daemonID }

// link carries the messages of one daemon to another.
type link struct {
	route
	queue   []*envelope
	last    []*envelope // the latest that arrived, to be repeated
	lastDue sched.Time
	pumping bool // its next arrival is scheduled
}

// maxRepeated is the largest number of messages in a repeated batch.
const maxRepeated = 3

// What the network does while the kind of fault is enabled.
const (
	lossIn      = 25 // one notice in so many is lost, one message is retransmitted
	repeatIn    = 25
	slowIn      = 8 // one message in so many is delayed by up to slowest
	slowest     = 300 * sched.Millisecond
	resendAfter = 250 * sched.Millisecond // after a loss
	retryAfter  = 20 * sched.Millisecond  // on a link that is partitioned or whose receiver does not know the sender
	usualDelay  = 500 * sched.Microsecond
)

// envelope is a message in flight, a node's snapshot, or a heartbeat.
type envelope struct {
	route
	num              uint64
	fromLife, toLife int
	by               *worker // the sender, nil if the daemon itself sends
	slot             int     // of the receiving worker in its node
	due              sched.Time
	sent             sched.Time // by the sender's clock
	msg              sched.Message
	slots            []slotState // set in a snapshot
	hello            bool        // the snapshot registers the node
	beat             bool
}

// newEnvelope addresses a message from one process to another as both are now.
func (w *world) newEnvelope(from, to daemonID, m *sched.Message) *envelope {
	w.num++
	f, t := w.process(from), w.process(to)
	e := &envelope{route: route{from, to}, num: w.num, fromLife: f.life, toLife: t.life, sent: f.clock.read(w.now)}
	if m != nil {
		e.msg = *m
	}
	return e
}

// sendOnLink enqueues an envelope on the link of its route. A message to a daemon that
// is down is lost.
func (w *world) sendOnLink(e *envelope) {
	if !w.process(e.to).alive {
		return
	}
	l := w.byRoute[e.route]
	if l == nil {
		l = &link{route: e.route}
		w.byRoute[e.route] = l
		w.links = append(w.links, l)
	}
	l.queue = append(l.queue, e)
	if w.manual {
		return
	}
	e.due = w.now + w.drawDelay()
	if w.chance(Loss, lossIn) {
		e.due += resendAfter
	}
	e.due = max(e.due, l.lastDue)
	l.lastDue = e.due
	w.pumpAt(l, e.due)
}

// drawDelay draws how long a message is in flight.
func (w *world) drawDelay() sched.Time {
	d := w.cfg.Delay
	if w.chance(Reorder, 1) {
		d += drawSpan(w.random, 2*usualDelay)
		if w.random.IntN(slowIn) == 0 {
			d += drawSpan(w.random, slowest)
		}
	}
	return d
}

func (w *world) pumpAt(l *link, at sched.Time) {
	if !l.pumping {
		l.pumping = true
		w.callAt(max(at, w.now), func() { w.pump(l) })
	}
}

// pump delivers the first message of a link if it is due and can arrive.
func (w *world) pump(l *link) {
	l.pumping = false
	if len(l.queue) == 0 || w.check.err != nil {
		return
	}
	e, to := l.queue[0], w.process(l.to)
	switch {
	case e.due > w.now:
	case w.blocked(l.route) || w.senderUnknown(e):
		e.due = w.now + retryAfter
	case to.alive && to.resumes > w.now:
		e.due = to.resumes
	default:
		w.deliverHead(l)
		if w.chance(Repeat, repeatIn) {
			w.repeat(l, 1+w.random.IntN(maxRepeated))
		}
	}
	if len(l.queue) > 0 {
		w.pumpAt(l, l.queue[0].due)
	}
}

// blocked reports whether a partition keeps the link's messages back.
func (w *world) blocked(r route) bool { return w.cuts[r] > w.now && r.from != r.to }

// deliverHead delivers the first message of a link.
func (w *world) deliverHead(l *link) {
	e := l.queue[0]
	l.queue = l.queue[1:]
	l.last = append(l.last, e)
	l.last = l.last[max(0, len(l.last)-maxRepeated):]
	w.receive(e)
}

// repeat delivers the latest messages of a link a second time.
func (w *world) repeat(l *link, count int) {
	for _, e := range l.last[max(0, len(l.last)-count):] {
		w.receive(e)
	}
}

// sendNotice sends an envelope as a notice.
func (w *world) sendNotice(e *envelope) {
	if w.manual {
		w.notices = append(w.notices, e)
		return
	}
	if w.chance(Loss, lossIn) || w.blocked(e.route) {
		return
	}
	times := 1
	if w.chance(Repeat, repeatIn) {
		times = 2
	}
	for range times {
		w.callAt(w.now+w.drawDelay(), func() {
			if w.process(e.to).alive {
				w.whenResumed(w.process(e.to), func() { w.receive(e) })
			}
		})
	}
}

// dropTraffic drops the messages in flight to a daemon that dies, and all but the first
// keep messages on each of its links to others.
func (w *world) dropTraffic(p daemonID, keep int) {
	for _, l := range w.links {
		if l.to == p {
			l.queue, l.last = nil, nil
		}
		if l.from == p {
			l.queue = l.queue[:min(keep, len(l.queue))]
		}
	}
}

// dropQueued removes the doomed messages from a link.
func (w *world) dropQueued(r route, doomed func(*envelope) bool) {
	l := w.byRoute[r]
	if l == nil {
		return
	}
	l.queue, l.last = slices.DeleteFunc(l.queue, doomed), nil
}

// receive delivers an envelope, unless its receiver has died in the meantime.
func (w *world) receive(e *envelope) {
	to := w.process(e.to)
	if w.check.err != nil || !to.alive || to.life != e.toLife {
		return
	}
	m := e.msg
	if w.faults.Kinds.Has(Drift) {
		translateTimes(&m, to.clock.read(w.now)-e.sent)
	}
	switch e.to.role {
	case sched.Distributor:
		w.deliverToFrontend(w.frontends[e.to.id], e, &m)
	case sched.Master:
		w.deliverToMaster(w.masters[e.to.id], e, &m)
	default:
		w.deliverToNode(w.nodes[e.to.id], e, &m)
	}
}

// translateTimes translates the instants in a message from the sender's clock to the
// receiver's, as the wire does by sending ages.
func translateTimes(m *sched.Message, by sched.Time) {
	if m.Arrival != 0 {
		m.Arrival += by
	}
	if m.More == nil || len(m.More.Probes) == 0 {
		return
	}
	more := *m.More
	more.Probes = slices.Clone(more.Probes)
	for i := range more.Probes {
		if p := &more.Probes[i]; p.Arrival != 0 {
			p.Arrival += by
		}
	}
	m.More = &more
}
