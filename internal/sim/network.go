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
	lossIn      = 25 // one notice in this many is lost, one message is retransmitted
	repeatIn    = 25
	slowIn      = 8 // one message in this many is delayed by up to slowest
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
	due, arrived     sched.Time
	sent             sched.Time // by the sender's clock
	msg              sched.Message
	slots            []slotState // set in a snapshot
	hello            bool        // the snapshot registers the node
	beat             bool
	refused          sched.Time // when its receiver last refused it since it did not know the sender
}

// network holds what is in flight.
type network struct {
	*cluster
	draws   *draws
	links   []*link
	byRoute map[route]*link
	notices []*envelope                     // undelivered, with manual
	cuts    map[route]sched.Time            // partitions, each with its end
	unknown func(*envelope) bool            // reports whether the receiver does not know the sender yet
	refuse  func([]*envelope)               // is called when a live receiver refuses messages because it does not
	deliver func(*envelope, *sched.Message) // is called when a message arrives at a live daemon
}

func newNetwork(c *cluster, d *draws) *network {
	return &network{cluster: c, draws: d, byRoute: map[route]*link{}, cuts: map[route]sched.Time{}}
}

// newEnvelope addresses a message from one process to another as both are now.
func (n *network) newEnvelope(from, to daemonID, m *sched.Message) *envelope {
	n.num++
	f, t := n.process(from), n.process(to)
	e := &envelope{route: route{from, to}, num: n.num, fromLife: f.life, toLife: t.life, sent: f.clock.read(n.now)}
	if m != nil {
		e.msg = *m
	}
	return e
}

// workerEnvelope addresses a message from a worker.
func (n *network) workerEnvelope(x *worker, to daemonID, m *sched.Message) *envelope {
	e := n.newEnvelope(x.node.daemonID, to, m)
	e.by = x
	return e
}

// sendOnLink enqueues an envelope on the link of its route. A message to a daemon that
// is down is lost.
func (n *network) sendOnLink(e *envelope) {
	if !n.process(e.to).alive {
		return
	}
	l := n.byRoute[e.route]
	if l == nil {
		l = &link{route: e.route}
		n.byRoute[e.route] = l
		n.links = append(n.links, l)
	}
	l.queue = append(l.queue, e)
	if n.manual {
		return
	}
	e.due = n.now + n.draws.drawDelay()
	if n.draws.chance(Loss, lossIn) {
		e.due += resendAfter
	}
	e.due = max(e.due, l.lastDue)
	l.lastDue = e.due
	n.pumpAt(l, e.due)
}

func (n *network) pumpAt(l *link, at sched.Time) {
	if !l.pumping {
		l.pumping = true
		n.callAt(max(at, n.now), func() { n.pump(l) })
	}
}

// pump delivers the first message of a link if it is due and can arrive.
func (n *network) pump(l *link) {
	l.pumping = false
	if len(l.queue) == 0 {
		return
	}
	e, to := l.queue[0], n.process(l.to)
	switch {
	case e.due > n.now:
	case n.blocked(l.route):
		e.due = n.now + retryAfter
	case n.unknown(e):
		if to.alive && to.resumes <= n.now {
			n.refuse(l.queue)
		}
		e.due = n.now + retryAfter
	case to.alive && to.resumes > n.now:
		e.due = to.resumes
	default:
		n.deliverHead(l)
		if n.draws.chance(Repeat, repeatIn) {
			n.repeat(l, 1+n.draws.random.IntN(maxRepeated))
		}
	}
	if len(l.queue) > 0 {
		n.pumpAt(l, l.queue[0].due)
	}
}

// blocked reports whether a partition keeps the link's messages back.
func (n *network) blocked(r route) bool { return n.cuts[r] > n.now && r.from != r.to }

// cut starts a partition: for a while, one daemon cannot reach the other.
func (n *network) cut(r route, until sched.Time) { n.cuts[r] = until }

// heal ends all partitions.
func (n *network) heal() { clear(n.cuts) }

// idle reports whether no message is on a link.
func (n *network) idle() bool {
	return !slices.ContainsFunc(n.links, func(l *link) bool { return len(l.queue) > 0 })
}

// deliverHead delivers the first message of a link.
func (n *network) deliverHead(l *link) {
	e := l.queue[0]
	l.queue = l.queue[1:]
	e.arrived = n.now
	l.last = append(l.last, e)
	l.last = l.last[max(0, len(l.last)-maxRepeated):]
	n.receive(e)
}

// repeat delivers the latest messages of a link a second time. With faults that is at
// the same instant, and not for Tasks: real links drop what arrives again, and a master
// cannot tell such tasks from new ones when they have left it.
func (n *network) repeat(l *link, count int) {
	for _, e := range l.last[max(0, len(l.last)-count):] {
		if n.manual || (e.arrived == n.now && e.msg.Kind != sched.Tasks) {
			n.receive(e)
		}
	}
}

// sendNotice sends an envelope as a notice.
func (n *network) sendNotice(e *envelope) {
	if n.manual {
		n.notices = append(n.notices, e)
		return
	}
	if n.draws.chance(Loss, lossIn) || n.blocked(e.route) {
		return
	}
	times := 1
	if n.draws.chance(Repeat, repeatIn) {
		times = 2
	}
	for range times {
		n.callAt(n.now+n.draws.drawDelay(), func() {
			if n.process(e.to).alive {
				n.whenResumed(n.process(e.to), func() { n.receive(e) })
			}
		})
	}
}

// dropTraffic drops the messages in flight to a daemon that dies, and all but the first
// keep messages on each of its links to others.
func (n *network) dropTraffic(p daemonID, keep int) {
	for _, l := range n.links {
		if l.to == p {
			l.queue, l.last = nil, nil
		}
		if l.from == p {
			l.queue = l.queue[:min(keep, len(l.queue))]
		}
	}
}

// dropQueued removes the doomed messages from a link.
func (n *network) dropQueued(r route, doomed func(*envelope) bool) {
	l := n.byRoute[r]
	if l == nil {
		return
	}
	l.queue, l.last = slices.DeleteFunc(l.queue, doomed), nil
}

// receive delivers an envelope, unless its receiver has died in the meantime.
func (n *network) receive(e *envelope) {
	to := n.process(e.to)
	if !to.alive || to.life != e.toLife {
		return
	}
	m := e.msg
	if n.draws.kinds.Has(Drift) {
		translateTimes(&m, to.clock.read(n.now)-e.sent)
	}
	n.deliver(e, &m)
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
