package slots

import (
	"errors"

	"github.com/pigeon-sched/pigeon/internal/link"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// Notifier publishes idle notices. An error means that nothing was sent; success does
// not mean that the receiver got it.
type Notifier interface {
	Idle(b *wire.Batch) error // to the receiver, a master
}

// Outbox collects the messages that a batch causes and sends them after it.
type Outbox struct {
	masterRef wire.Ref
	self      *wire.Sender
	metrics   *Metrics
	master    *link.Link // in order
	peers     *link.Set  // to frontends and other nodes; nil where workers exchange no messages with them
	notices   Notifier   // nil without NATS

	idles     []wire.Item // to publish
	forMaster []wire.Item // to send by Thrift, in order
	local     []local
}

// local is a message of one worker of this node to another, or of the shell to a core.
type local struct {
	to   *worker
	from sched.Addr
	msg  sched.Message
}

func newOutbox(cfg *Config) *Outbox {
	return &Outbox{masterRef: cfg.MasterRef, self: cfg.Self, metrics: cfg.Metrics}
}

// Connect sets the links: to the master, and to peers where workers exchange messages
// with them, otherwise nil.
func (o *Outbox) Connect(m *link.Link, p *link.Set) { o.master, o.peers = m, p }

// UseNotices sets what publishes idle notices from now on.
func (o *Outbox) UseNotices(n Notifier) { o.notices = n }

// ForgetMaster drops the messages that wait for a master that has ended.
func (o *Outbox) ForgetMaster() {
	clear(o.forMaster)
	o.forMaster = o.forMaster[:0]
}

// toMaster queues a message to the master by Thrift.
func (o *Outbox) toMaster(w *worker, m *sched.Message) {
	o.forMaster = append(o.forMaster, wire.Item{From: w.ref, To: o.masterRef, Msg: *m})
}

// idle queues an idle notice, by Thrift without NATS.
func (o *Outbox) idle(w *worker, m *sched.Message) {
	if o.notices == nil {
		o.toMaster(w, m)
		return
	}
	o.idles = append(o.idles, wire.Item{From: w.ref, To: o.masterRef, Msg: *m})
}

// toPeer queues a message to a frontend or another node; it returns false when that is no
// member.
func (o *Outbox) toPeer(it *wire.Item) bool { return o.peers != nil && o.peers.Queue(it) }

// toLocal queues a message to a worker of this node.
func (o *Outbox) toLocal(to *worker, from sched.Addr, m *sched.Message) {
	o.local = append(o.local, local{to, from, *m})
}

// flush sends everything except the local messages.
func (o *Outbox) flush() {
	o.publishIdles()
	o.sendMaster()
	if o.peers != nil {
		o.peers.Flush()
	}
}

// sendMaster sends the messages that go by Thrift. Messages that a full link
// refuses are sent with a later batch. Messages to a master that has ended are dropped: its
// successor receives the whole state when this node registers.
func (o *Outbox) sendMaster() {
	if len(o.forMaster) == 0 {
		return
	}
	err := o.master.Send(o.forMaster...)
	if err != nil && !errors.Is(err, link.ErrStale) && !errors.Is(err, link.ErrClosed) {
		return
	}
	o.ForgetMaster()
}

// publishIdles publishes the idle notices of a batch as one message.
func (o *Outbox) publishIdles() {
	if len(o.idles) == 0 {
		return
	}
	if err := o.notices.Idle(o.self.Batch(o.masterRef, o.idles)); err != nil {
		o.metrics.unpublished.Add(float64(len(o.idles)))
		o.forMaster = append(o.forMaster, o.idles...)
	}
	o.metrics.idles.Add(float64(len(o.idles)))
	clear(o.idles)
	o.idles = o.idles[:0]
}
