package coretest

import "github.com/pigeon-sched/pigeon/internal/sched"

// ends names a link from one process to another.
type ends struct{ from, to place }

// link carries the messages of one process to another in order.
type link struct {
	ends
	queue []envelope
	last  []envelope // the latest that arrived, for a batch that comes twice
}

// repeatable is how many messages a repeated batch can have.
const repeatable = 3

// envelope is a message on its way, or a node's account of its slots.
type envelope struct {
	ends
	num             int
	fromInc, toInc  int
	fromSlot, owner int // of a node's slot; owner: the master's worker id
	msg             sched.Message
	slots           []slotState // set: hello, or a snapshot when among the notices
}

// enclose addresses a message between two processes as they are now.
func (c *Cluster) enclose(from, to place, m *sched.Message) envelope {
	c.num++
	fromInc, _ := c.incarnation(from)
	toInc, _ := c.incarnation(to)
	e := envelope{ends: ends{from, to}, num: c.num, fromInc: fromInc, toInc: toInc}
	if m != nil {
		e.msg = *m
	}
	return e
}

// post puts an envelope on the link between its ends. What is sent to a dead
// process is lost.
func (c *Cluster) post(e envelope) {
	if _, alive := c.incarnation(e.to); !alive {
		return
	}
	l := c.byEnds[e.ends]
	if l == nil {
		l = &link{ends: e.ends}
		c.byEnds[e.ends] = l
		c.links = append(c.links, l)
	}
	l.queue = append(l.queue, e)
}

func (c *Cluster) busyLinks() []*link {
	var busy []*link
	for _, l := range c.links {
		if len(l.queue) > 0 {
			busy = append(busy, l)
		}
	}
	return busy
}

// deliverHead delivers the first message of a link.
func (c *Cluster) deliverHead(l *link) {
	e := l.queue[0]
	l.queue = l.queue[1:]
	l.last = append(l.last, e)
	l.last = l.last[max(0, len(l.last)-repeatable):]
	c.deliver(e)
}

// repeat delivers the latest messages of a link once more.
func (c *Cluster) repeat(l *link, count int) {
	for _, e := range l.last[max(0, len(l.last)-count):] {
		c.deliver(e)
	}
}

// DeliverAll delivers everything that is on its way, and what that leads to, in
// the order in which it was sent.
func (c *Cluster) DeliverAll() {
	for range maxDeliveries {
		if c.err != nil {
			return
		}
		first := -1
		for i, e := range c.notices {
			if first < 0 || e.num < c.notices[first].num {
				first = i
			}
		}
		var head *link
		for _, l := range c.busyLinks() {
			if head == nil || l.queue[0].num < head.queue[0].num {
				head = l
			}
		}
		switch {
		case head != nil && (first < 0 || head.queue[0].num < c.notices[first].num):
			c.deliverHead(head)
		case first >= 0:
			c.deliverNotice(first)
		default:
			return
		}
	}
	c.failf("%d messages, and there is no end", maxDeliveries)
}

// maxDeliveries bounds what one event can lead to.
const maxDeliveries = 20_000

func (c *Cluster) deliverNotice(i int) {
	e := c.notices[i]
	c.dropNotice(i)
	c.deliver(e)
}

func (c *Cluster) dropNotice(i int) { c.notices = append(c.notices[:i], c.notices[i+1:]...) }

// cut forgets what is on its way to a process that dies, and all but the first
// few messages on each of its links to others.
func (c *Cluster) cut(p place, keep int) {
	for _, l := range c.links {
		if l.to == p {
			l.queue, l.last = nil, nil
		}
		if l.from == p {
			l.queue = l.queue[:min(keep, len(l.queue))]
		}
	}
}

// deliver gives an envelope to its receiver, unless that has died since.
func (c *Cluster) deliver(e envelope) {
	inc, alive := c.incarnation(e.to)
	if c.err != nil || !alive || inc != e.toInc {
		return
	}
	switch e.to.role {
	case sched.Distributor:
		c.toDistributor(e)
	case sched.Master:
		c.toMaster(e)
	default:
		c.toNode(e)
	}
}

func (c *Cluster) toDistributor(e envelope) {
	d := c.distributors[e.to.id]
	from := sched.Addr{Role: e.from.role, ID: int32(e.from.id)}
	if e.msg.Kind == sched.MasterUp {
		from = sched.Addr{}
		d.lost[e.from.id] = false
	}
	c.step(d, from, &e.msg)
	if e.msg.Kind == sched.Report && d.alive && c.nodes[e.from.id].incarnation == e.fromInc {
		d.synced = len(d.journal)
		c.nodes[e.from.id].acknowledge(e.msg.AttemptID())
	}
}

func (c *Cluster) toMaster(e envelope) {
	m := c.masters[e.to.id]
	if e.from.role != sched.Worker {
		from := sched.Addr{Role: e.from.role, ID: int32(e.from.id)}
		switch e.msg.Kind {
		case sched.Tasks:
			m.cargo[e.msg.Job] = true
		case sched.MasterUp:
			from = sched.Addr{}
			m.lost[e.from.id] = false
		}
		c.step(m, from, &e.msg)
		return
	}
	if e.slots != nil {
		c.account(m, e)
		return
	}
	if w, ok := m.worker(e.from.id, e.fromInc, e.fromSlot); ok {
		c.step(m, w, &e.msg)
	}
}

func (c *Cluster) toNode(e envelope) {
	n := c.nodes[e.to.id]
	from := sched.Addr{Role: sched.Master, ID: int32(n.group)}
	if e.from == e.to {
		from = sched.Addr{}
	}
	c.stepSlot(n, e.owner, from, &e.msg)
}
